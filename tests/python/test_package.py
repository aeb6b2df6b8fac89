"""The Python package without a broker: the wheel in a clean virtual environment, and that its structs are the
library's."""

import ctypes
import fnmatch
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT
from test_install import Machine


def pip(command, *words):
    return [sys.executable, "-m", "pip", *command, "-q", "--disable-pip-version-check", *words]


ENV = {key: value for key, value in os.environ.items()
       if key not in ("RIFFLE_LIBRARY", "RIFFLE_PROGRAM", "LIBRDKAFKA", "MAKEFLAGS", "MFLAGS", "CFLAGS", "B", "PYTHONPATH")}


def empty_environment(folder):
    """Makes a virtual environment without any package and returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """A Python that has what pip would install for each build, and nothing else."""
    needed = re.search(r"^requires = \[(.*)\]", (ROOT / "python/pyproject.toml").read_text(), re.M)[1]
    python = empty_environment(tmp_path_factory.mktemp("builder"))
    subprocess.run(pip(["--python", python, "install"], "--no-compile", *[word.strip(' "') for word in needed.split(",")]),
                   check=True, env=ENV)
    return python


def pip_wheel(builder, source, folder, env):
    """Builds a wheel as `pip install SOURCE` does."""
    return subprocess.run(pip(["--python", builder, "wheel"], "--no-deps", "--no-build-isolation", "-w", folder, source), env=env,
                          capture_output=True, text=True)


def setup_wheel(builder, source, folder, env):
    """Builds a wheel by what pip calls, in half the time."""
    return subprocess.run([builder, "setup.py", "-q", "bdist_wheel", "-d", folder], cwd=source, env=env, capture_output=True,
                          text=True)


@pytest.fixture(scope="module")
def wheel(build, builder, tmp_path_factory):
    to = tmp_path_factory.mktemp("wheel")
    env = {**ENV, "RIFFLE_LIBRARY": str(build / "libriffle.so.0"), "RIFFLE_PROGRAM": str(build / "riffle")}
    done = pip_wheel(builder, ROOT / "python", to, env)
    assert done.returncode == 0, done.stderr
    return next(to.glob("*.whl"))


def test_the_wheel_holds_program_and_library_and_fits_any_python(wheel, build):
    version = re.escape((ROOT / "VERSION").read_text().strip())
    assert re.fullmatch(rf"riffle-{version}-py3-none-linux_\w+\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert {"riffle/__init__.py", "riffle/torch.py", "riffle/py.typed", "riffle/VERSION", "riffle/libriffle.so.0"} <= set(names)
    for name in ("libriffle.so.0", "bin/riffle"):
        inside = zipfile.ZipFile(wheel).read(f"riffle/{name}")
        assert inside == (build / pathlib.Path(name).name).read_bytes()


def test_building_it_leaves_nothing_in_the_source(wheel):
    left = subprocess.run(["git", "status", "--porcelain", "--ignored", "python"], cwd=ROOT, capture_output=True,
                          text=True).stdout.splitlines()
    assert [line for line in left if "__pycache__" not in line and line[:2] in ("??", "!!")] == []


MAKEFILE = """\
B ?= build
all: $B/gen/build_info.c $B/riffle $B/libriffle.so.0
$B/gen/build_info.c: always
\t@mkdir -p $(@D) && echo '$(CFLAGS)' >$@
$B/riffle $B/libriffle.so.0:
\t@mkdir -p $(@D) && echo $B >$@
always:
.PHONY: all always
"""


@pytest.fixture
def machine(tmp_path):
    """A small checkout, whose make writes the name of the build folder into program and library."""
    machine = Machine(tmp_path / "checkout")
    shutil.copytree(ROOT / "python", machine.folder / "python", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "VERSION", machine.folder)
    (machine.folder / "consumer/reader").mkdir(parents=True)
    (machine.folder / "consumer/reader/riffle.h").touch()
    (machine.folder / "Makefile").write_text(MAKEFILE)
    return machine


@pytest.mark.parametrize("make_wheel, missing, apt, package", [
    (pip_wheel, "headers", "2.0.2-1", "librdkafka-dev"),
    (setup_wheel, "headers", "2.8.0-1", "libssl-dev"),
    (setup_wheel, "make", "2.0.2-1", "librdkafka-dev"),
    (setup_wheel, "make", "2.8.0-1", "libssl-dev"),
])
def test_without_headers_or_make_it_names_what_to_install(machine, builder, make_wheel, missing, apt, package):
    """The package of librdkafka is the one that `make deps-build` would install."""
    machine.has_librdkafka(None)
    machine.apt_has(apt)
    machine.has("cc")
    if missing == "headers":
        machine.has("make")
        machine.has("pkg-config", "exit 1")
    done = make_wheel(builder, machine.folder / "python", machine.folder, {**ENV, "PATH": str(machine.path)})
    assert done.returncode != 0
    debian = re.search(r"\n\s+packages\+=\((gcc[^)]*)\)", (ROOT / "scripts/deps").read_text()).group(1)
    debian = debian.replace('"$kafka_package"', package)
    assert f"apt-get install {' '.join(debian.split())}\n" in done.stdout + done.stderr


def test_an_unfit_librdkafka_of_the_system_is_replaced_by_the_bundled_one(machine, builder, tmp_path):
    """pip needs no headers of the system's. The bundled one is there already."""
    machine.has("pkg-config", 'case "$*" in "--modversion rdkafka") echo 2.8.0 ;; *" rdkafka"*) exit 1 ;; esac')
    version = subprocess.run([machine.folder / "scripts/librdkafka", "--version"], check=True, capture_output=True, text=True).stdout
    (machine.folder / "build/librdkafka").mkdir(parents=True)
    (machine.folder / "build/librdkafka/.version").write_text(version)
    done = setup_wheel(builder, machine.folder / "python", tmp_path / "wheels", {**ENV, "PATH": f"{machine.path}:{ENV['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (machine.folder / "build/librdkafka.choice").read_text().startswith("bundled\n")


def test_it_takes_what_is_built_if_commit_and_flags_are_the_same(machine, builder, tmp_path):
    machine.has("pkg-config")
    env = {**ENV, "LIBRDKAFKA": "system", "PATH": f"{machine.path}:{ENV['PATH']}"}
    subprocess.run(["make", "-s", "CFLAGS=-O2"], cwd=machine.folder, env=env, check=True)
    for flags, folder in (("-O2", "build"), ("-O0", "build/wheel-here")):
        to = tmp_path / flags
        done = setup_wheel(builder, machine.folder / "python", to, {**env, "CFLAGS": flags})
        assert done.returncode == 0, done.stdout + done.stderr
        inside = zipfile.ZipFile(next(to.glob("*.whl")))
        for name in ("libriffle.so.0", "bin/riffle"):
            assert inside.read(f"riffle/{name}").decode() == folder + "\n"


def test_the_image_is_given_every_script_that_writes_sources():
    given = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    rules = re.findall(r"^\$B/gen/.*(?:\n\t.*)+", (ROOT / "Makefile").read_text(), re.M)
    scripts = set(re.findall(r"\bscripts/[\w-]+", "".join(rules)))
    assert len(scripts) >= 3
    assert [s for s in scripts if not any(fnmatch.fnmatch(s, pattern) for pattern in given)] == []


def test_it_is_installed_in_a_clean_environment(wheel, tmp_path):
    python = empty_environment(tmp_path / "venv")
    subprocess.run(pip(["--python", python, "install"], "--no-deps", "--no-compile", wheel), check=True, env=ENV)
    numpy = pathlib.Path(importlib.import_module("numpy").__file__).parents[1]  # the one thing it needs
    program = f"import sys; sys.path.append({str(numpy)!r})\nimport riffle\nprint(riffle.__file__)\n" \
              "try: riffle.Reader('m', '127.0.0.1:1', open_timeout=0.5)\nexcept riffle.BrokerError as why: print(why)"
    done = subprocess.run([python, "-c", program], env=ENV, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    where, why = done.stdout.splitlines()
    assert where.startswith(str(tmp_path / "venv")) and why.startswith("no broker answers at 127.0.0.1:1")
    version = f"riffle {(ROOT / 'VERSION').read_text().strip()}"
    for words in ([tmp_path / "venv/bin/riffle"], [python, "-c", f"import sys; sys.path.append({str(numpy)!r})\n"
                                                   "import runpy; runpy.run_module('riffle', run_name='__main__')"]):
        done = subprocess.run([*words, "--version"], env=ENV, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.startswith(version), done.stderr


def test_a_library_that_is_not_there_is_named(package):
    for path, says in [("/none/libriffle.so", "/none/libriffle.so"), (os.devnull, os.devnull)]:
        done = subprocess.run([sys.executable, "-c", "import riffle"], env={**package.env, "RIFFLE_LIBRARY": path},
                              capture_output=True, text=True)
        assert done.returncode == 1
        assert f"libriffle cannot be loaded from {says} (from RIFFLE_LIBRARY): " in done.stderr


def test_in_a_checkout_the_library_that_was_built_is_named(tmp_path, build):
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    (tmp_path / "build").mkdir()
    env, built = {**ENV, "PYTHONPATH": str(tmp_path / "python")}, tmp_path / "build/libriffle.so.0"
    start = lambda *words, **more: subprocess.run([sys.executable, *(words or ("-c", "import riffle"))], env={**env, **more},
                                                  capture_output=True, text=True)
    said = start().stderr
    assert "libriffle cannot be loaded from" in said and "from RIFFLE_LIBRARY" not in said and "set RIFFLE_LIBRARY=" not in said
    shutil.copy(build / "libriffle.so.0", built)
    assert f"{built} is there: set RIFFLE_LIBRARY={built}. " in start().stderr
    assert start(RIFFLE_LIBRARY=str(built)).returncode == 0
    words, shown = ("-m", "riffle", "status", "a b"), f"({tmp_path}/python/riffle/bin/riffle): "
    assert start(*words, RIFFLE_LIBRARY=str(built)).stderr.endswith(f"{shown}`make wheel` makes one that has\n")
    built.with_name("riffle").touch()
    assert start(*words, RIFFLE_LIBRARY=str(built)).stderr.endswith(f"{shown}run {tmp_path}/build/riffle status 'a b'\n")
    program = "from riffle import _program; _program.program()"
    assert f"PATH: {tmp_path}/build/riffle is there: set RIFFLE_PROGRAM={tmp_path}/build/riffle\n" in start(
        "-c", program, RIFFLE_LIBRARY=str(built), PATH="").stderr
    (tmp_path / "python/riffle/VERSION").write_text("0.0.9\n")
    said = start(RIFFLE_LIBRARY=str(built)).stderr
    assert said.startswith("Traceback") and f"{built} (from RIFFLE_LIBRARY) is libriffle " in said and said.endswith(
        f", but the package in {tmp_path}/python/riffle is for 0.0.9. Set RIFFLE_LIBRARY to libriffle 0.0.9, or unset it\n")


def test_without_numpy_the_command_that_installs_it_is_named(package, tmp_path):
    program = "import sys; sys.modules['numpy'] = None; import riffle"
    done = subprocess.run([sys.executable, "-c", program], env=package.env, capture_output=True, text=True)
    assert done.stderr.endswith("riffle needs the Python package numpy: pip install numpy\n"), done.stderr


STRUCTS = {"riffle_error": "ErrorText", "riffle_property": "Property", "riffle_options": "Options",
           "riffle_span": "SpanOfSequence", "riffle_range": "Range", "riffle_sequence": "Sequence",
           "riffle_step": "StepOfReader", "riffle_info": "InfoOfReader", "riffle_place": "PlaceOfReader", "riffle_loss": "LossOfDomain",
           "riffle_targets": "Targets", "riffle_validation_options": "ValidationOptions",
           "riffle_validation_info": "InfoOfValidation", "riffle_rounds": "RoundsOfMix", "riffle_extent": "ExtentOfMix",
           "riffle_round": "RoundOfStep", "riffle_checkpoint": "Checkpoint"}


def test_structs_are_laid_out_as_in_the_header(package, tmp_path):
    library = importlib.import_module(package.riffle.__name__ + "._library")
    expected, program = [], "#include <stdio.h>\n#include \"consumer/reader/riffle.h\"\nint main(void) {\n"
    for name, ours in STRUCTS.items():
        kind = getattr(library, ours)
        expected.append(f"{name} {ctypes.sizeof(kind)}")
        program += f'printf("{name} %zu\\n", sizeof(struct {name}));\n'
        for field, _ in kind._fields_:
            expected.append(f"{name}.{field} {getattr(kind, field).offset} {getattr(kind, field).size}")
            program += f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), ' \
                       f"sizeof(((struct {name} *)0)->{field}));\n"
    (tmp_path / "layout.c").write_text(program + "return 0; }\n")
    subprocess.run(["cc", "-I", ROOT, "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    assert subprocess.run([tmp_path / "layout"], capture_output=True, text=True).stdout.splitlines() == expected


def kind_of(library, declared):
    """What ctypes calls a type of C, a parameter's name included."""
    words = declared.replace("const ", "").replace("*", " * ").split()
    stars = words.count("*")
    if words[0] == "enum":
        return ctypes.c_int
    if words[0] == "struct":
        if words[1] not in STRUCTS:  # a handle
            return ctypes.c_void_p if stars == 1 else ctypes.POINTER(ctypes.c_void_p)
        found = getattr(library, STRUCTS[words[1]])
        for _ in range(stars):
            found = ctypes.POINTER(found)
        return found
    if stars:
        simple = {"char": ctypes.c_char_p, "void": ctypes.c_void_p, "uint64_t": ctypes.POINTER(ctypes.c_uint64),
                  "riffle_log": library.LogFunction}
    else:
        simple = {"void": None, "int": ctypes.c_int, "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32}
    return simple[words[0]]


def test_functions_have_the_types_of_the_header(package):
    library = importlib.import_module(package.riffle.__name__ + "._library")
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "consumer/reader/riffle.h").read_text(), flags=re.S)
    declared = {name: (kind_of(library, result), [kind_of(library, one) for one in parameters.split(",") if one.strip() != "void"])
                for result, name, parameters in re.findall(r"RIFFLE_API ([^;(]*?)\b(riffle_\w+)\(([^;]*)\);", header)}
    assert library._FUNCTIONS == {name: declared[name] for name in library._FUNCTIONS}


def test_a_struct_says_its_size_and_a_library_of_another_version_is_refused(package, monkeypatch):
    library = importlib.import_module(package.riffle.__name__ + "._library")
    for name in STRUCTS.values():
        kind = getattr(library, name)
        if issubclass(kind, library.Sized):
            assert kind().size == ctypes.sizeof(kind)
    for version in ("0.0.0", "9.9.9"):
        monkeypatch.setattr(library, "VERSION", version)
        with pytest.raises(ImportError, match=rf"is for {version}\. "):
            library._load()


def test_codes_are_those_of_the_header(package):
    library = importlib.import_module(package.riffle.__name__ + "._library")
    codes = dict(re.findall(r"RIFFLE_((?:OK|END|TIMEOUT|ERROR_\w+)) =\s*(\d+)", (ROOT / "consumer/reader/riffle.h").read_text()))
    assert len(codes) == 9
    assert {name: getattr(library, name) for name in codes} == {name: int(code) for name, code in codes.items()}


def test_all_functions_of_the_header_have_the_version(build):
    declared = set(re.findall(r"RIFFLE_API [^;(]*?\b(riffle_\w+)\(", (ROOT / "consumer/reader/riffle.h").read_text()))
    shown = subprocess.run(["nm", "-D", "--defined-only", build / "libriffle.so.0"], check=True, capture_output=True,
                           text=True).stdout
    assert set(re.findall(r" T (\w+)@@RIFFLE_0", shown)) == declared
    assert len(re.findall(r" T ", shown)) == len(declared)
