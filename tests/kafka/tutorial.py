"""The commands of docs/TUTORIAL.md, run as they stand there, in one shell."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("B", "build")
FOLDER = ROOT / "build/tutorial"  # where the page has its files
_BLOCK = re.compile(r"^```sh(?: (\w+))?\n(.*?)^```$", re.M | re.S)
_DELETE = "riffle topics --delete --yes\n"


def commands(*kinds):
    """Of the blocks without a kind, and of those of the kinds named."""
    text = (ROOT / "docs/TUTORIAL.md").read_text()
    return "".join(block for kind, block in _BLOCK.findall(text) if not kind or kind in kinds)


def after_installing():
    """The commands behind section 1: those of a machine on which riffle is installed, without a checkout and without PyTorch."""
    return "".join(block for kind, block in _BLOCK.findall((ROOT / "docs/TUTORIAL.md").read_text())[1:] if not kind)


def run(bootstrap, *kinds, seconds):
    """-> what the commands printed; all that they have started is ended, and their topics are deleted. What an
    earlier run has left is deleted first. The riffle is that of $B, where the page has build."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "RIFFLE"))}
    env["RIFFLE_BOOTSTRAP"] = bootstrap
    if (FOLDER / "run.yml").exists():
        subprocess.run([BUILD / "riffle", "topics", "-c", FOLDER / "run.yml", "--delete", "--yes"], env=env, timeout=seconds,
                       capture_output=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    script = "set -euo pipefail\n" + commands(*kinds).replace("$PWD/build:", f"{BUILD}:") + _DELETE
    script = script.replace("$PWD/build/libriffle", f"{BUILD}/libriffle")
    shell = subprocess.Popen(["bash", "-c", script], cwd=ROOT, env=env, text=True, start_new_session=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        out, _ = shell.communicate(timeout=seconds)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert shell.returncode == 0, out
    return out
