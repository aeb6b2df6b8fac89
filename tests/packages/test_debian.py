"""The packages of `make deb`, with Debian's librdkafka and with the bundled one, installed by apt where there is neither compiler
nor library."""

import re

import pytest

import tutorial
from machine import BUILT, PROXIES, ROOT, run

INSTALL = """cd /root
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
install() { apt-get install -y -qq --no-install-recommends "$@" > log 2>&1 || { cat log; exit 1; }; }
"""


@pytest.fixture(params=["deb", "deb-bundled"])
def packages(debian, request):
    files = [*(BUILT / request.param).glob("*.deb")]
    assert files, f"there is no build/{request.param}: make deb, make deb LIBRDKAFKA=bundled"
    for file in files:
        debian.put(file, f"root/debs/{file.name}")
    debian.librdkafka = "bundled" if request.param == "deb-bundled" else "2.0.2"
    return debian


def of_librdkafka(out, packages):
    """Whether the machine has packages of librdkafka, by what dpkg -l has printed, where it should, and only there."""
    installed = re.findall(r"^ii +librdkafka", out, re.M)
    return not installed if packages.librdkafka == "bundled" else installed


def test_the_tutorial_works_with_the_package_and_a_purge_leaves_nothing(packages, bootstrap):
    packages.put(ROOT / "build/vocab/cl100k_base.tiktoken", "root/build/vocab/cl100k_base.tiktoken")
    out = packages.run(INSTALL + """install ./debs/riffle_*.deb
! command -v gcc cc make
riffle --version
! said=$(env -u RIFFLE_BOOTSTRAP riffle-kafka up 2>&1) && echo "$said"
dpkg -l 'librdkafka*' 2>&1 || true
""" + tutorial.after_installing() + """
riffle topics --delete --yes
dpkg -L riffle | while read -r path; do [ -d "$path" ] || echo "$path"; done > files
apt-get purge -y -qq riffle > log 2>&1
while read -r path; do [ ! -e "$path" ] || echo "left: $path"; done < files
echo "$(wc -l < files) files"
""", f"RIFFLE_BOOTSTRAP={bootstrap}", *PROXIES)
    assert "takes effect at step" in out and "left: " not in out
    assert "riffle-kafka: missing to start Kafka" in out
    assert of_librdkafka(out, packages)
    version = run(ROOT / "scripts/librdkafka", "--version").strip() if packages.librdkafka == "bundled" else packages.librdkafka
    assert f"\nlibrdkafka {version}," in out
    assert int(re.search(r"^(\d+) files$", out, re.M).group(1)) > 20


def test_a_trainer_in_c_is_built_against_the_library(packages):
    out = packages.run(INSTALL + """install gcc libc6-dev pkgconf ./debs/libriffle0_*.deb ./debs/libriffle-dev_*.deb
dpkg -l 'librdkafka*' 2>&1 || true
gcc -o trainer /usr/share/doc/libriffle-dev/examples/trainer.c $(pkg-config --cflags --libs riffle)
./trainer 2>&1 || true
libs=$(pkg-config --libs --static riffle)
gcc -o static /usr/share/doc/libriffle-dev/examples/trainer.c $(pkg-config --cflags riffle) ${libs/-lriffle/-l:libriffle.a}
! readelf -d static | grep libriffle
./static 2>&1 || true
dpkg -S "$(realpath /usr/lib/*/libriffle.so.0)"
""", *PROXIES)
    assert of_librdkafka(out, packages)
    assert out.lower().count("usage: ") == 2 and re.search(r"^libriffle0(:\w+)?: ", out, re.M)
