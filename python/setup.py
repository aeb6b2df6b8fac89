"""Builds the wheel with program and library inside.

The library is $RIFFLE_LIBRARY where that is set, the program $RIFFLE_PROGRAM, else those that `make` builds in the
checkout that this folder is part of, or has built there; `make deps-build` installs what that needs. scripts/librdkafka chooses
which librdkafka they have, as it does for `make`, unless $LIBRDKAFKA does. ctypes loads the library: nothing of Python's own
interface is compiled, so one wheel is right for every version of Python. $RIFFLE_LICENCES is a folder of the licenses of what is
linked into both, as in `make wheel`.
"""

import functools
import os
import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ("avro-c", "yaml-0.1", "libzstd", "zlib", "jansson", "libxxhash", "libmicrohttpd")
DEBIAN = ("gcc make pkg-config binutils {} libavro-dev libyaml-dev libzstd-dev zlib1g-dev libjansson-dev "
          "libxxhash-dev libmicrohttpd-dev")
KAFKA = {"system": ("rdkafka", "librdkafka-dev"), "bundled": ("libssl", "libssl-dev")}  # what pkg-config finds, and its package
INSIDE = {"libriffle.so.0": "RIFFLE_LIBRARY", "riffle": "RIFFLE_PROGRAM"}  # what is built, and what names another one


def run(what: str, *words, **more) -> str:
    try:
        return subprocess.run(words, check=True, text=True, **more).stdout
    except subprocess.CalledProcessError as why:
        raise SystemExit(f"riffle: {what}: {os.path.basename(words[0])} ended with {why.returncode}; what it printed is above")


def make(checkout: pathlib.Path, build: str, name: str) -> None:
    run(f"{name} cannot be built", "make", "-s", f"-j{os.cpu_count()}", "-C", checkout, f"B={build}", f"{build}/{name}")


def prepare(checkout: pathlib.Path) -> None:
    """Ends with what to install if compiling needs more, and builds librdkafka if the bundled one is chosen."""
    script, kafka = checkout / "scripts" / "librdkafka", os.environ.get("LIBRDKAFKA", "auto")
    if kafka == "auto":
        kafka = run("librdkafka cannot be chosen", script, "--choose", stdout=subprocess.PIPE).strip()
    if kafka not in KAFKA:
        raise SystemExit(f"riffle: LIBRDKAFKA={kafka}: it must be auto, system or bundled")
    module, package = KAFKA[kafka]
    modules = (module, *PACKAGES)
    # What is missing shows as an error of the compiler or of make, of which pip shows a traceback only.
    if not all(map(shutil.which, ("make", "cc", "pkg-config"))) or subprocess.run(
            ["pkg-config", "--exists", *modules]).returncode != 0:
        raise SystemExit(
            "riffle: program and library are compiled here, and need make, a C compiler, pkg-config and the headers of "
            f"{', '.join(modules)}. On Debian or Ubuntu:\n\n    apt-get install {DEBIAN.format(package)}\n\n"
            "or name those that were built elsewhere by RIFFLE_LIBRARY and RIFFLE_PROGRAM")
    if kafka == "bundled":
        run("librdkafka cannot be built", script)


@functools.cache
def build_folder(checkout: pathlib.Path) -> str:
    """`build`, if `make` has compiled this commit there by the same compiler with the same flags, or else a folder of its own.

    Both have the file in which scripts/embed-build describes a build. In `build`, make compiles what has changed since then.
    """
    info, own = "gen/build_info.c", "build/wheel-here"
    make(checkout, own, info)
    try:
        same = (checkout / "build" / info).read_bytes() == (checkout / own / info).read_bytes()
    except FileNotFoundError:
        same = False
    return "build" if same else own


def built(name: str) -> pathlib.Path:
    """The library or the program, built here where none is given."""
    given = os.environ.get(INSIDE[name])
    if given:
        if not pathlib.Path(given).is_file():
            raise SystemExit(f"{INSIDE[name]}: there is no file {given}")
        return pathlib.Path(given)
    checkout = HERE.parent
    if not (checkout / "consumer" / "reader" / "riffle.h").is_file():
        raise SystemExit(f"{checkout} is no checkout of riffle: build {name} there and name it by {INSIDE[name]}")
    prepare(checkout)
    build = build_folder(checkout)
    make(checkout, build, name)
    return checkout / build / name


class BuildWithLibrary(build_py):
    def run(self) -> None:
        super().run()
        package = pathlib.Path(self.build_lib) / "riffle"
        (package / "bin").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built("libriffle.so.0"), package / "libriffle.so.0")
        shutil.copy(built("riffle"), package / "bin" / "riffle")  # with its mode
        licences = os.environ.get("RIFFLE_LICENCES")
        if licences:
            shutil.copytree(licences, package / "licences", dirs_exist_ok=True)


class WheelOfAnyPython(bdist_wheel):
    """Of this kind of machine, but of any Python."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple:
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


# Nothing is written into the source tree.
base = HERE.parent / "build" / "wheel" / "python"
base.mkdir(parents=True, exist_ok=True)
setup(
    distclass=WithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfAnyPython},
    options={"build": {"build_base": str(base)}, "egg_info": {"egg_base": str(base)}},
)
