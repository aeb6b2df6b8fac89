"""scripts/progress: what a terminal and a log show while riffle is compiled."""

import os
import pty
import subprocess
import time

from conftest import ROOT

MAKEFILE = """\
all: a.o b.o ; @:
%.o:
\t@[ -z "$$RIFFLE_PROGRESS" ] || SCRIPT --compiling $*.c
\t@touch $@; [ $* != "$(BAD)" ]
"""


def compile_two(folder, *words, tty=False):
    """(exit code, what stderr got) of make in `folder`."""
    script = ROOT / "scripts/progress"
    (folder / "scripts").mkdir(exist_ok=True)
    if not (folder / "scripts/progress").exists():
        (folder / "scripts/progress").symlink_to(script)
    (folder / "Makefile").write_text(MAKEFILE.replace("SCRIPT", "scripts/progress"))
    command = ["scripts/progress", "make", "--no-print-directory", "-s", *words]
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "RIFFLE_PROGRESS")}
    if not tty:
        done = subprocess.run(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stderr
    master, slave = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, env=env, stderr=slave)
    os.close(slave)
    said = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # its last writer has ended
            break
        said += part
    os.close(master)
    return process.wait(60), said.decode()


def test_a_terminal_has_one_line_that_is_overwritten(tmp_path):
    code, said = compile_two(tmp_path, tty=True)
    assert code == 0
    assert said == "\r\x1b[K[1/2] a.c\r\r\x1b[K[2/2] b.c\r\r\x1b[K"
    assert compile_two(tmp_path, tty=True) == (0, "")  # all of it is there
    (tmp_path / "b.o").unlink()
    assert "[1/1] b.c" in compile_two(tmp_path, tty=True)[1]


def test_a_log_has_a_line_now_and_then(tmp_path):
    assert compile_two(tmp_path) == (0, "")  # it took less than ten seconds
    shown = tmp_path / "count.shown"
    (tmp_path / "count").write_text("." * 41)
    shown.touch()
    env = {**os.environ, "RIFFLE_PROGRESS": str(tmp_path / "count"), "RIFFLE_PROGRESS_OF": "346"}
    os.utime(shown, (time.time() - 11,) * 2)
    for want in ("[42/346] x.c\n", ""):
        assert subprocess.run([ROOT / "scripts/progress", "--compiling", "x.c"], env=env, stderr=subprocess.PIPE, text=True,
                              check=True).stderr == want


def test_a_failure_of_make_is_one_of_the_script(tmp_path):
    code, said = compile_two(tmp_path, "BAD=b")
    assert code == 2 and "Error 1" in said


def test_a_make_inside_of_another_one_is_counted_by_that_one(tmp_path):
    (tmp_path / "count").touch()
    env = {**os.environ, "RIFFLE_PROGRESS": str(tmp_path / "count"), "RIFFLE_PROGRESS_OF": "2"}
    (tmp_path / "count.shown").touch()
    done = subprocess.run([ROOT / "scripts/progress", "sh", "-c", "echo $RIFFLE_PROGRESS_OF"], env=env, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "2\n"
