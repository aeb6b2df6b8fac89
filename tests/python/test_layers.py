"""scripts/layers on small trees: what it finds, and what it names when it does."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import unittest.mock

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/layers"
CODE = compile(SCRIPT.read_text(), SCRIPT, "exec")

ROOMS = """\
common/base     | base.h  | | names
common/decide   | pick.h  | pure common/base | decides
common/effect   | disk.h  | pure:plan | reads files
consumer/loop   | loop.h  | common/base common/effect | loops
"""
FILES = {
    "docs/rooms.txt": ROOMS,
    "common/base/base.h": """\
/*
 * base.h -- names.
 *
 * Files of this room:
 *     base      names, and what
 *                 they stand for
 *     bytes     counts bytes
 *
 */
#include <stdlib.h>
""",
    "common/base/bytes.c": '#include "common/base/base.h"\n',
    "common/decide/pick.h": "/*\n * Files of this room:\n *     pick   picks\n *\n */\n",
    "common/decide/pick.c": '#include "common/decide/pick.h"\n#include "common/base/base.h"\n',
    "common/effect/disk.h": "/*\n * Files of this room:\n *     disk   reads\n *     plan   decides\n *\n */\n#include <stdio.h>\n",
    "common/effect/plan.c": "int plan;\n",
    "consumer/loop/loop.h": '/*\n * Files of this room:\n *     loop   loops\n *\n */\n#include "common/base/base.h"\n',
    "consumer/loop/loop.c": '#include "consumer/loop/loop.h"\n#include "common/effect/disk.h"\n',
}


def layers(tree, *words, files={}, alone=False):
    """Runs scripts/layers on FILES and `files`. If `alone`, a new Python runs it."""
    for name, text in {**FILES, **files}.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    compiler = {"COMPILE_COMMAND": "cc -std=c11 -I."}
    if alone:
        return subprocess.run([SCRIPT, *words], cwd=tree, capture_output=True, text=True, env={**os.environ, **compiler})
    status, out, errors = 0, io.StringIO(), io.StringIO()
    with (contextlib.chdir(tree), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors),
          unittest.mock.patch.dict(os.environ, compiler), unittest.mock.patch.object(sys, "argv", [str(SCRIPT), *words])):
        try:
            exec(CODE, {"__name__": "__main__"})
        except SystemExit as end:
            status = end.code
    return subprocess.CompletedProcess(words, status, out.getvalue(), errors.getvalue())


@pytest.mark.parametrize("alone", [False, True])
def test_a_tree_that_holds_the_rules_passes(tmp_path, alone):
    done = layers(tmp_path, alone=alone)
    assert (done.stderr, done.returncode) == ("", 0)


VIOLATIONS = {
    "a room directly": (
        {"common/base/bytes.c": '#include "common/effect/disk.h"\n'},
        "common/base/bytes.c: sees common/effect/disk.h; common/base may see no other room"),
    "a room through a header": (
        {"common/effect/disk.h": FILES["common/effect/disk.h"] + '#include "common/effect/plan.h"\n',
         "common/effect/plan.h": '#include "common/decide/pick.h"\n'},
        "consumer/loop/loop.c: sees common/decide/pick.h through common/effect/disk.h, then common/effect/plan.h; "
        "consumer/loop may see common/base common/effect"),
    "a header that nobody includes": (
        {"common/base/bytes.h": '#include "common/decide/pick.h"\n'},
        "common/base/bytes.h: sees common/decide/pick.h; common/base may see no other room"),
    "an effect in a decision": (
        {"common/decide/pick.c": "#include <stdio.h>\n"},
        "common/decide/pick.c: sees <stdio.h>; a decision sees no I/O and no clock"),
    "an effect in a decision through a header": (
        {"common/base/base.h": FILES["common/base/base.h"] + "#include <sys/stat.h>\n"},
        "common/decide/pick.c: sees <sys/stat.h> through common/base/base.h; a decision sees no I/O and no clock"),
    "an effect in a module that decides": (
        {"common/effect/plan.c": "#include <time.h>\n"},
        "common/effect/plan.c: sees <time.h>; a decision sees no I/O and no clock"),
    "a module that decides and is not there": (
        {"docs/rooms.txt": ROOMS.replace("pure:plan", "pure:plan,gone")},
        "docs/rooms.txt: pure:gone of common/effect is no module there"),
    "a folder that is no room": (
        {"common/other/other.c": "int other;\n"},
        "common/other/other.c: its folder is no room in docs/rooms.txt"),
    "a room that is allowed and not seen": (
        {"docs/rooms.txt": ROOMS.replace("| common/base common/effect", "| common/base common/effect common/decide")},
        "docs/rooms.txt: consumer/loop may see common/decide, and no file of it does"),
    "an old picture": (
        {"docs/ARCHITECTURE.md": "    common/base  --> common/decide\n"},
        "docs/ARCHITECTURE.md: its picture is not that of docs/rooms.txt; scripts/layers --redraw mends it"),
    "rooms in a circle": (
        {"docs/rooms.txt": ROOMS.replace("| base.h  | |", "| base.h  | common/decide |")},
        "docs/rooms.txt: these rooms form a circle: common/base common/decide"),
    "modules in a circle": (
        {"common/base/bytes.h": '#include "common/base/base.h"\n',
         "common/base/base.c": '#include "common/base/bytes.h"\n'},
        "these modules form a circle: common/base/base common/base/bytes"),
    "a file that the map does not list": (
        {"consumer/loop/turn.c": "int turn;\n"},
        "consumer/loop/loop.h: its map does not list turn"),
    "a line of the map without a file": (
        {"consumer/loop/loop.h": FILES["consumer/loop/loop.h"].replace(" *     loop", " *     turn   turns\n *     loop")},
        "consumer/loop/loop.h: its map lists turn, which is not in consumer/loop"),
    "a room without a map": (
        {"consumer/loop/loop.h": "int loop;\n"},
        "consumer/loop/loop.h: has no map (`Files of this room:`), closed by an empty ` *` line"),
    "a full folder": (
        {f"consumer/loop/turn{i}.c": "int turn;\n" for i in range(29)},
        "consumer/loop: holds 31 source files; at most 30"),
}


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_violation_is_named_and_fails(tmp_path, kind):
    files, message = VIOLATIONS[kind]
    done = layers(tmp_path, files=files, alone=kind == "a room directly")
    assert f"layers: {message}\n" in done.stderr
    assert done.returncode == 1


def test_what_a_header_of_libc_includes_does_not_count(tmp_path):
    done = layers(tmp_path, files={"common/decide/pick.c": FILES["common/decide/pick.c"] + "#include <stdlib.h>\n"})  # includes <sys/types.h>
    assert (done.stderr, done.returncode) == ("", 0)


def test_what_the_compiler_skips_does_not_count(tmp_path):
    skipped = "#ifdef NEVER\n#include <stdio.h>\n#include \"consumer/loop/loop.h\"\n#endif\n"
    done = layers(tmp_path, files={"common/decide/pick.c": FILES["common/decide/pick.c"] + skipped})
    assert (done.stderr, done.returncode) == ("", 0)


def test_the_picture_has_the_nearest_rooms_alone(tmp_path):
    rooms = ROOMS.replace("| common/base common/effect", "| common/base common/decide")
    done = layers(tmp_path, "--draw", files={"docs/rooms.txt": rooms})
    assert "    consumer/loop          --> common/decide\n" in done.stdout
    assert "    common/base            --> (nothing of ours)\n" in done.stdout


def test_a_page_is_redrawn_around_its_text(tmp_path):
    page = f"# Page\n\n{layers(tmp_path, '--draw').stdout}\nText.\n"
    old = page.replace("common/base, common/effect", "common/base").replace("| cli ", "| old ")
    assert old != page
    layers(tmp_path, "--redraw", files={"docs/ARCHITECTURE.md": old})
    assert (tmp_path / "docs/ARCHITECTURE.md").read_text() == page
    assert layers(tmp_path, files={"docs/ARCHITECTURE.md": page}).returncode == 0
