"""make install: what a trainer in C is built against."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(build, *settings):
    # The Makefile that runs these tests must not pass its own settings on.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    run("make", "-C", ROOT, "-s", f"B={os.path.relpath(build, ROOT)}", "install", *settings, env=env)


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    install(build, f"prefix={folder}")
    return folder


def compiled(prefix, folder, library):
    """examples/trainer.c against the installed header and one kind of the library."""
    env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "riffle", env=env).split()
    if library == "static":  # ours alone; not every library below it has a static one on Debian
        below = run("pkg-config", "--print-requires-private", "riffle", env=env).split()
        flags = [str(prefix / "lib/libriffle.a") if f == "-lriffle" else f for f in flags]
        flags += run("pkg-config", "--libs", *below).split() + ["-lm", "-pthread"]
    program = folder / library
    run("cc", "-std=c11", "-D_GNU_SOURCE", "-o", program, ROOT / "examples/trainer.c", *flags)
    return program


@pytest.mark.parametrize("library", ["shared", "static"])
def test_the_example_builds_and_runs_against_what_is_installed(prefix, tmp_path, library):
    program = compiled(prefix, tmp_path, library)
    needs = run("readelf", "-d", program)
    assert ("libriffle.so.0" in needs) == (library == "shared")
    done = subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")},
                          capture_output=True, text=True, timeout=60)
    assert "usage" in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("words", [("-D", "libriffle.so.0"), ("-g", "libriffle.a")])
def test_only_the_interface_is_visible(prefix, words):
    symbols = run("nm", "--defined-only", words[0], prefix / "lib" / words[1])
    names = {line.split()[2] for line in symbols.splitlines() if len(line.split()) == 3}
    declared = (prefix / "include/riffle.h").read_text()
    assert names
    assert [name for name in names if not name.startswith("riffle_") or name not in declared] == []


def test_destdir_stands_before_every_path_and_in_no_file(build, tmp_path):
    install(build, f"DESTDIR={tmp_path}", "prefix=/usr")
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if not p.is_dir())
    assert files == ["usr/bin/riffle", "usr/include/riffle.h", "usr/lib/libriffle.a",
                     "usr/lib/libriffle.so", "usr/lib/libriffle.so.0", "usr/lib/pkgconfig/riffle.pc"]
    assert str(tmp_path) not in (tmp_path / "usr/lib/pkgconfig/riffle.pc").read_text()
