"""make install: what a trainer in C is built against."""

import os
import pathlib
import shutil
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
    make("put-in-place", build, f"prefix={folder}")  # what `make install` ends with
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
    for version, said in (("2.8.0", "librdkafka 2.8.0 crashes"), ("2.10.0", ""), ("2.3.0", "")):
        (tmp_path / "rdkafka.pc").write_text(f"Name: rdkafka\nDescription: d\nVersion: {version}\nLibs: -lrdkafka\n")
        done = subprocess.run([ROOT / "scripts/deps", "build"], env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path), "LIBRDKAFKA": "system"},
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == (1 if said else 0) and said in done.stderr


TOOLS = ("bash", "cat", "dirname", "env", "head", "id", "mkdir", "mktemp", "rm", "sed", "sort")


class Machine:
    """A checkout with two scripts, on a machine that has TOOLS and the programs that a test writes."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "bin"
        for name in ("scripts", "bin"):
            (folder / name).mkdir(parents=True)
        for name in ("deps", "librdkafka"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts")
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool))

    def has(self, program, script="exit 0"):
        (self.path / program).write_text(f"#!{self.path}/bash\n{script}\n")
        (self.path / program).chmod(0o755)

    def has_librdkafka(self, version):
        """None: pkg-config does not know it."""
        self.has("pkg-config", f"[ \"$1 $2\" != '--modversion rdkafka' ] || {f'{{ echo {version}; exit 0; }}' if version else 'exit 1'}")

    def apt_has(self, version):
        self.has("apt-cache", f"printf 'librdkafka-dev:\\n  Installed: (none)\\n  Candidate: {version}\\n'")

    def run(self, *words):
        return subprocess.run([self.folder / "scripts" / words[0], *words[1:]], capture_output=True, text=True, timeout=60,
                              env={"PATH": str(self.path)})

    def choose(self):
        done = self.run("librdkafka", "--choose")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("installed, apt, choice, why", [
    ("2.0.2", None, "system", "pkg-config finds librdkafka 2.0.2"),
    ("2.3.0", None, "system", "pkg-config finds librdkafka 2.3.0"),
    ("2.4.0", "2.12.0-1", "bundled", "pkg-config finds librdkafka 2.4.0, which crashes"),
    ("2.10.0", "2.8.0-1", "system", "pkg-config finds librdkafka 2.10.0"),
    ("1.9.2", None, "bundled", "pkg-config finds librdkafka 1.9.2, which is older than 2.0.2"),
    (None, "2.0.2-1", "system", "apt would install librdkafka 2.0.2"),
    (None, "2.8.0-1+b2", "bundled", "apt would install librdkafka 2.8.0, which crashes"),
    (None, "1:2.9.9-1", "bundled", "apt would install librdkafka 2.9.9, which crashes"),
    (None, "(none)", "bundled", "neither pkg-config nor apt has librdkafka"),
    (None, None, "bundled", "neither pkg-config nor apt has librdkafka"),
])
def test_a_librdkafka_is_chosen_once_and_the_line_says_why(tmp_path, installed, apt, choice, why):
    machine = Machine(tmp_path)
    machine.has_librdkafka(installed)
    if apt:
        machine.apt_has(apt)
    word, said = machine.choose()
    assert word == choice and why in said and len(said.splitlines()) == 1
    assert (tmp_path / "build/librdkafka.choice").read_text().startswith(f"{choice}\n{why}")
    assert machine.choose() == (choice, "")


def test_a_choice_follows_what_is_installed_and_says_so_again(tmp_path):
    machine = Machine(tmp_path)
    machine.has_librdkafka("2.8.0")
    assert machine.choose()[0] == "bundled"
    machine.has_librdkafka(None)  # removed, and apt has a good one: the choice stays
    machine.apt_has("2.0.2-1")
    assert machine.choose() == ("bundled", "")
    machine.has_librdkafka("2.12.1")
    word, said = machine.choose()
    assert word == "system" and "pkg-config finds librdkafka 2.12.1" in said


def test_another_librdkafka_compiles_everything_again(tmp_path):
    build = tmp_path / "build"
    used, compiled = build / "librdkafka.used", build / "common/base/utf8.o"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "LIBRDKAFKA"))} | {"PKG_CONFIG_PATH": str(tmp_path)}

    def make(version, *words):
        (tmp_path / "rdkafka.pc").write_text(f"Name: rdkafka\nDescription: d\nVersion: {version}\nLibs: -lrdkafka\n")
        done = subprocess.run(["make", "-C", ROOT, "-s", f"B={os.path.relpath(build, ROOT)}", "LIBRDKAFKA=system", *words], env=env,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode == 0

    use, ask = os.path.relpath(used, ROOT), ("-q", os.path.relpath(compiled, ROOT))
    assert make("2.10.0", use) and used.read_text() == "system 2.10.0\n"
    compiled.parent.mkdir(parents=True)
    compiled.touch()
    assert make("2.10.0", *ask, use)  # both are up to date
    assert not make("2.11.0", *ask)
    assert make("2.11.0", use) and used.read_text() == "system 2.11.0\n"
    assert not make("2.11.0", *ask)  # it is older than the file


PROGRAMS = ("cc", "make", "objcopy", "ar", "python3", "kcat", "unzip", "zstd", "flock", "setsid", "java", "mvn")


def test_without_apt_it_names_what_is_missing_and_continues_if_all_is_there(tmp_path):
    machine = Machine(tmp_path)
    machine.has_librdkafka("2.12.1")
    for program in PROGRAMS:
        machine.has(program)
    for what in ("build", "unit", "demo", "test"):
        done = machine.run("deps", what)
        assert done.returncode == 0, done.stderr
    (machine.path / "kcat").unlink()
    assert machine.run("deps", "unit").returncode == 0
    done = machine.run("deps", "demo")
    assert done.returncode == 1 and "kcat (kcat): 1.7" in done.stderr and "Homebrew" in done.stderr
    machine.has("pkg-config", "[ \"$2\" != avro-c ] && [ \"$1\" != --modversion ]")
    done = machine.run("deps", "build")
    assert done.returncode == 1
    missing = done.stderr.split("\n\n")[1].splitlines()
    assert missing == ["Avro C (avro-c): 1.11", "npm, to fetch the bundled librdkafka (npm): 9.2"]


def test_the_page_about_installing_has_the_table_of_the_script():
    assert run(ROOT / "scripts/deps", "--list") in (ROOT / "docs/INSTALLING.md").read_text()


def test_installing_builds_the_program_and_the_library_alone(build):
    made = make("install", build, "--dry-run", "prefix=/nowhere").splitlines()
    (built,) = [line for line in made if "--no-print-directory" in line]
    assert [w.rpartition("/")[2] for w in built.partition(" make ")[2].split() if "/" in w] == ["riffle", "libriffle.so", "libriffle.a"]
