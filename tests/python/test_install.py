"""make install: what a trainer in C is built against."""

import os
import pathlib
import subprocess

import pytest

from commands import commands_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make(target, build, *settings):
    # The Makefile that runs these tests must not pass its own settings on.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return run("make", "-C", ROOT, "-s", f"B={os.path.relpath(build, ROOT)}", target, *settings, env=env)


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    make("install", build, f"prefix={folder}")
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
    # A version (RIFFLE_0, RIFFLE_0.2) is a symbol itself, and comes after each function of the shared library.
    names = {line.split()[2].partition("@@")[0] for line in symbols.splitlines() if len(line.split()) == 3}
    names = {name for name in names if not name.startswith("RIFFLE_0")}
    declared = (prefix / "include/riffle.h").read_text()
    assert names
    assert [name for name in names if not name.startswith("riffle_") or name not in declared] == []


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


def test_destdir_stands_before_every_path_and_in_no_file(build, riffle, tmp_path):
    make("install", build, f"DESTDIR={tmp_path}", "prefix=/usr")
    pages = ["usr/share/man/man1/riffle.1"] + [f"usr/share/man/man1/riffle-{c}.1" for c in commands_of(riffle)]
    assert files_below(tmp_path) == sorted([
        "usr/bin/riffle", "usr/include/riffle.h", "usr/lib/libriffle.a", "usr/lib/libriffle.so",
        "usr/lib/libriffle.so.0", "usr/lib/pkgconfig/riffle.pc", "usr/share/bash-completion/completions/riffle",
        "usr/share/fish/vendor_completions.d/riffle.fish", "usr/share/zsh/site-functions/_riffle",
        "usr/bin/riffle-kafka", "usr/share/riffle/kafka", "usr/share/riffle/maven-jars", "usr/share/man/man1/riffle-kafka.1", *pages])
    for file in files_below(tmp_path):
        assert str(tmp_path).encode() not in (tmp_path / file).read_bytes() or file == "usr/bin/riffle"
    make("uninstall", tmp_path / "nothing-is-built", f"DESTDIR={tmp_path}", "prefix=/usr")
    assert files_below(tmp_path) == []


def test_a_librdkafka_that_riffle_refuses_to_run_with_is_refused_before_it_compiles(tmp_path):
    for version, said in (("2.8.0", "librdkafka 2.8.0 ends processes"), ("2.10.0", ""), ("2.3.0", "")):
        (tmp_path / "rdkafka.pc").write_text(f"Name: rdkafka\nDescription: d\nVersion: {version}\nLibs: -lrdkafka\n")
        done = subprocess.run([ROOT / "scripts/deps", "build"], env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path), "LIBRDKAFKA": "system"},
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == (1 if said else 0) and said in done.stderr


def test_installing_builds_the_program_and_the_library_alone(build):
    made = make("install", build, "--dry-run", "prefix=/nowhere").splitlines()
    (built,) = [line for line in made if "--no-print-directory" in line]
    assert [w.rpartition("/")[2] for w in built.split() if "/" in w] == ["riffle", "libriffle.so", "libriffle.a"]
