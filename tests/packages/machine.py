"""A machine on which nothing is installed, and how programs are run there and here."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build"
BARE = BUILT / "packages/root"  # debootstrap makes it once
# Of the machine that runs the tests: proxies, and where pip keeps its files and finds certificates.
OUTSIDE = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "RIFFLE", "PYTHON"))}

# The same proxies as here, if there are any, as settings for Debian.run().
PROXIES = [f"{k}={v}" for k, v in OUTSIDE.items() if k.lower() in ("http_proxy", "https_proxy", "no_proxy")]


def run(*words, seconds=900, **more):
    done = subprocess.run([str(w) for w in words], text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    assert done.returncode == 0, done.stdout
    return done.stdout


class Debian:
    """A Debian without compiler or libraries. What is changed in it stays in a layer of its own, below `folder`. `more` is a folder
    with further files, which it only reads."""

    ENTER = """set -eu
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$LAYER/upper,workdir=$LAYER/work" "$LAYER/root"
mount -t proc proc "$LAYER/root/proc"
mount --rbind /dev "$LAYER/root/dev"
cp /etc/resolv.conf "$LAYER/root/etc/resolv.conf"
exec chroot "$LAYER/root" env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"
"""

    def __init__(self, folder, more=None):
        self.folder, self.lower = folder, f"{more}:{BARE}" if more else str(BARE)
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()

    def put(self, path, to):
        to = self.folder / "upper" / to
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)

    def run(self, script, *settings, seconds=900):
        """-> what bash printed; the settings are NAME=VALUE. Its processes end with it."""
        env = {**os.environ, "LOWER": self.lower, "LAYER": str(self.folder)}
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", self.ENTER, "enter", *settings,
                   "bash", "-euo", "pipefail", "-c", script, env=env, seconds=seconds)


def python_of(version):
    """The program of Python 3.N: in PATH, or of pyenv."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    places = [*sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")), shutil.which(f"python{version}")]
    assert places[0], f"there is no python{version} in PATH, and none of pyenv"
    return places[0]
