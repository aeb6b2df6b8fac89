"""Builds the wheel with libriffle inside.

The library is $RIFFLE_LIBRARY where that is set, else the one that `make` builds in the checkout that
this folder is part of; `make deps-build` installs what that needs. ctypes loads it: nothing of Python's own
interface is compiled, so one wheel is right for every version of Python.
"""

import os
import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "libriffle.so.0"
PACKAGES = ("rdkafka", "avro-c", "yaml-0.1", "libzstd", "zlib", "jansson", "libxxhash")
DEBIAN = ("gcc make pkg-config binutils librdkafka-dev libavro-dev libyaml-dev libzstd-dev zlib1g-dev libjansson-dev "
          "libxxhash-dev")


def library() -> pathlib.Path:
    given = os.environ.get("RIFFLE_LIBRARY")
    if given:
        if not pathlib.Path(given).is_file():
            raise SystemExit(f"RIFFLE_LIBRARY: there is no file {given}")
        return pathlib.Path(given)
    checkout = HERE.parent
    if not (checkout / "consumer" / "reader" / "riffle.h").is_file():
        raise SystemExit(
            f"{checkout} is no checkout of riffle: build libriffle there and name it by RIFFLE_LIBRARY")
    build = "build/wheel"
    # What is missing shows as an error of the compiler or of make, of which pip shows a traceback only.
    if not all(map(shutil.which, ("make", "cc", "pkg-config"))) or subprocess.run(
            ["pkg-config", "--exists", *PACKAGES]).returncode != 0:
        raise SystemExit(
            "riffle: libriffle is compiled here, and needs make, a C compiler, pkg-config and the headers of "
            f"{', '.join(PACKAGES)}. On Debian or Ubuntu:\n\n    apt-get install {DEBIAN}\n\n"
            "or name a library that was built elsewhere by RIFFLE_LIBRARY")
    try:
        subprocess.run(["make", "-s", "-C", checkout, f"B={build}", f"{build}/{LIBRARY}"], check=True)
    except subprocess.CalledProcessError as why:
        raise SystemExit(f"riffle: libriffle cannot be built: make ended with {why.returncode}; what it printed is above")
    return checkout / build / LIBRARY


class BuildWithLibrary(build_py):
    def run(self) -> None:
        super().run()
        to = pathlib.Path(self.build_lib) / "riffle" / LIBRARY
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library(), to)


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
