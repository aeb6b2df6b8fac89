"""The packages of `make deb`, installed by apt where there is neither compiler nor library."""

import re

import pytest

import tutorial
from machine import BUILT, OUTSIDE, ROOT

# The same proxies as here, where there are any.
SETTINGS = [f"{k}={v}" for k, v in OUTSIDE.items() if k.lower() in ("http_proxy", "https_proxy", "no_proxy")]
INSTALL = """cd /root
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
install() { apt-get install -y -qq --no-install-recommends "$@" > log 2>&1 || { cat log; exit 1; }; }
"""


@pytest.fixture
def packages(debian):
    for file in (BUILT / "deb").glob("*.deb"):
        debian.put(file, f"root/debs/{file.name}")
    return debian


def test_the_tutorial_works_with_the_package_and_a_purge_leaves_nothing(packages, bootstrap):
    packages.put(ROOT / "build/vocab/cl100k_base.tiktoken", "root/build/vocab/cl100k_base.tiktoken")
    out = packages.run(INSTALL + """install ./debs/riffle_*.deb
! command -v gcc cc make
riffle --version
""" + tutorial.after_installing() + """
riffle topics --delete --yes
dpkg -L riffle | while read -r path; do [ -d "$path" ] || echo "$path"; done > files
apt-get purge -y -qq riffle > log 2>&1
while read -r path; do [ ! -e "$path" ] || echo "left: $path"; done < files
echo "$(wc -l < files) files"
""", f"RIFFLE_BOOTSTRAP={bootstrap}", *SETTINGS)
    assert "takes effect at step" in out and "left: " not in out
    assert int(re.search(r"^(\d+) files$", out, re.M).group(1)) > 20


def test_a_trainer_in_c_is_built_against_the_library(packages):
    out = packages.run(INSTALL + """install gcc libc6-dev pkgconf ./debs/libriffle0_*.deb ./debs/libriffle-dev_*.deb
gcc -o trainer /usr/share/doc/libriffle-dev/examples/trainer.c $(pkg-config --cflags --libs riffle)
./trainer 2>&1 || true
dpkg -S "$(realpath /usr/lib/*/libriffle.so.0)"
""", *SETTINGS)
    assert "usage" in out.lower() and re.search(r"^libriffle0(:\w+)?: ", out, re.M)
