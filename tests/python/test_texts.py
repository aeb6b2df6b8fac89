"""scripts/texts: documents of pinned packages, in the same order everywhere."""

import hashlib
import importlib.machinery
import importlib.util
import json
import struct
import zipfile

import pytest

from conftest import ROOT


@pytest.fixture
def texts(tmp_path):
    """The script as a module, with packages of its own."""
    loader = importlib.machinery.SourceFileLoader("texts", str(ROOT / "scripts/texts"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("texts", loader))
    loader.exec_module(module)
    module.HOME = tmp_path
    return module


def put(texts, name, files):
    """A wheel with these files, written in their order."""
    version, _ = texts.WHEELS[name]
    path = texts.HOME / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, data in files.items():
            wheel.writestr(file, data)
    texts.WHEELS[name] = version, hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_come_in_the_order_of_their_names_as_utf8_up_to_the_limit(texts):
    put(texts, "sympy", {"sympy/b.py": "b\r\n", "sympy/a/z.py": "z", "sympy/B.py": "B", "sympy/a.py": "\xe9", "sympy/c.py": b"\xe9",
                         "sympy/empty.py": "", "other/a.py": "no", "sympy/x.txt": "no"})
    assert list(texts.documents("code")) == ["B", "\xe9", "z", "b\r\n"]
    texts.LIMIT = 3  # the second document ends there
    assert list(texts.documents("code")) == ["B", "\xe9"]


def test_prose_is_what_the_last_version_of_a_service_says_without_markup(texts):
    texts.SHORTEST = 5
    shape = {"documentation": "<p>One &amp; <b>two</b>\n three.</p><p>Four</p>", "members": {"b": {"documentation": "b"}, "a": {"documentation": "a"}}}
    put(texts, "awscli", {f"awscli/botocore/data/{name}/service-2.json": json.dumps(service) for name, service in (
        ("s/2015-01-01", {"operations": {"Old": {"documentation": "<p>not this one</p>"}}}),
        ("s/2016-01-01", {"operations": {"Z": {"documentation": "<p>an operation</p>"}}, "shapes": {"Y": {"documentation": "x"}, "X": shape}}))})
    assert list(texts.documents("prose")) == ["an operation", "One & two three.\nFour\n\na\n\nb"]


def catalogue(messages):
    """A compiled catalogue of gettext; the first message is its header."""
    originals, translations = [b"", *(m[0].encode() for m in messages)], [b"header", *(m[1].encode() for m in messages)]
    at = 28 + 16 * len(originals)
    tables, data = [], b""
    for strings in (originals, translations):
        table = b""
        for string in strings:
            table += struct.pack("<2I", len(string), at + len(data))
            data += string + b"\0"
        tables.append(table)
    return struct.pack("<7I", 0x950412de, 0, len(originals), 28, 28 + len(tables[0]), 0, 0) + b"".join(tables) + data


def test_messages_of_each_language_come_in_turn(texts):
    texts.LANGUAGES, texts.MESSAGES = {"de": "de", "zh_CN": "zh_Hans"}, 2
    put(texts, "gramps", {f"x/locale/{name}/LC_MESSAGES/gramps.mo": catalogue([("one\0ones", f"{name} 1\0{name} n"), ("two", f"{name} 2")])
                          for name in ("de", "zh_CN", "fr")})
    put(texts, "weblate", {"weblate/locale/de/LC_MESSAGES/django.mo": catalogue([("three", "de 3")])})
    assert list(texts.documents("multilingual")) == ["de 1\nde n", "zh_CN 1\nzh_CN n", "de 2", "zh_CN 2", "de 3"]


def test_a_package_that_is_not_the_pinned_one_is_fetched_again(texts, monkeypatch):
    put(texts, "pythran", {"pythran/a.hpp": "right"})
    path = texts.fetch("pythran")
    right = path.read_bytes()
    path.write_bytes(b"wrong")
    wanted = []
    monkeypatch.setattr(texts, "download", lambda line, work: wanted.append(line) or (work / path.name).write_bytes(right))
    assert list(texts.documents("headers")) == ["right"]
    version, digest = texts.WHEELS["pythran"]
    assert wanted == [f"pythran=={version} --hash=sha256:{digest}\n"]
    assert list(texts.documents("headers")) == ["right"] and len(wanted) == 1
