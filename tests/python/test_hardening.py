"""What the linker and the compiler were to put into the program and the library is there (readelf)."""

import re
import subprocess

import pytest


def readelf(path, *words):
    return subprocess.run(["readelf", "-W", *words, path], check=True, capture_output=True, text=True, timeout=30).stdout


@pytest.fixture(params=["riffle", "libriffle.so.0"])
def binary(build, request):
    return build / request.param


def test_it_is_independent_of_its_position(binary):
    assert re.search(r"Type:\s+DYN", readelf(binary, "-h"))
    if binary.name == "riffle":
        assert re.search(r"FLAGS_1.*\bPIE\b", readelf(binary, "-d"))


def test_its_relocations_are_done_at_the_start_and_read_only_then(binary):
    assert "GNU_RELRO" in readelf(binary, "-l")
    dynamic = readelf(binary, "-d")
    assert re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic)
    assert "TEXTREL" not in dynamic


def test_its_stack_is_no_code_and_nothing_is_both_written_and_run(binary):
    segments = readelf(binary, "-l")
    stack = re.search(r"GNU_STACK(?:\s+0x[0-9a-f]+){5}\s+([RWE]+)", segments)
    assert stack and stack[1] == "RW"
    assert not re.search(r"LOAD.*\bRWE\b", segments)


@pytest.mark.parametrize("symbol", [
    r"__stack_chk_fail",            # -fstack-protector-strong
    r"__(memcpy|snprintf|vsnprintf|read|fread)_chk",  # -D_FORTIFY_SOURCE
])
def test_it_checks_its_stack_and_its_buffers(binary, symbol):
    assert re.search(rf"UND {symbol}@", readelf(binary, "--dyn-syms"))
