"""riffle-source: rows of files that pyarrow wrote, as JSON lines, the same each time, from any row on."""

import datetime
import decimal
import gzip
import io
import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

import numpy
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard

import source_process

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "python/riffle_source.py"


@pytest.fixture(scope="module", autouse=True)
def forked(tmp_path_factory):
    """Starts the process that is forked for the runs of `source`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        for name, value in (("HF_HOME", tmp_path_factory.mktemp("hf")), ("HF_HUB_OFFLINE", 1), ("HF_DATASETS_OFFLINE", 1)):
            patch.setenv(name, str(value))
        source_process.start()
        yield


def source(*words, resume=None, check=True, cwd=None, alone=False):
    """Runs riffle-source. If `alone`, a new Python runs it."""
    environment = {k: v for k, v in os.environ.items() if k != "RIFFLE_RESUME"}
    if resume is not None:
        environment["RIFFLE_RESUME"] = str(resume)
    words = list(map(str, words))
    if alone:
        done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, env=environment, timeout=120, cwd=cwd)
    else:
        done = source_process.run(words, cwd, environment)
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done


def rows_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def documents(n, seed=1):
    r = random.Random(seed)
    return [{"id": i, "text": "".join(r.choices(["a", "é", "中", "\n", '"', " ", "\U0001f600"], k=r.randrange(40)))}
            for i in range(n)]


def write(path, rows, group=7):
    """By the name's ending: Parquet in row groups, Arrow's two formats in batches, JSON lines."""
    table, name = pyarrow.Table.from_pylist(rows), path.name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(table, path, row_group_size=group)
    elif name.endswith(".arrow"):
        with pyarrow.ipc.new_stream(path, table.schema) as out:
            out.write_table(table, max_chunksize=group)
    elif name.endswith(".feather"):
        pyarrow.feather.write_feather(table, path, chunksize=group)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        if name.endswith(".zst"):
            with pyarrow.CompressedOutputStream(path, "zstd") as out:
                out.write(text)
        else:
            path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


FORMS = ["x.parquet", "x.arrow", "x.feather", "x.jsonl", "x.jsonl.gz", "x.jsonl.zst"]


@pytest.mark.parametrize("name", FORMS)
def test_rows_come_out_as_they_went_in_from_any_row_on(tmp_path, name):
    rows = documents(40)
    write(tmp_path / name, rows)
    whole = source(tmp_path / name, alone=True)
    assert rows_of(whole) == rows
    assert source(f"file://{tmp_path}/{name}").stdout == whole.stdout
    lines = whole.stdout.splitlines(keepends=True)
    for skip in (1, 7, 8, 40):
        assert source(tmp_path / name, resume=skip).stdout == b"".join(lines[skip:])
    assert source(tmp_path / name, "--limit", 9, resume=5).stdout == b"".join(lines[5:14])


def test_files_are_read_in_the_order_of_their_names_whatever_the_order_given(tmp_path):
    parts = {f"part-{i}.parquet": documents(5 + i, i) for i in (0, 1, 2, 10)}
    (tmp_path / "sub").mkdir()
    for name, rows in parts.items():
        write(tmp_path / name, rows)
    write(tmp_path / "sub" / "z.arrow", documents(3, 99))
    (tmp_path / "README.md").write_text("no data")
    expected = [row for name in sorted(parts) for row in parts[name]]
    assert rows_of(source(tmp_path / "*.parquet")) == expected
    names = [tmp_path / name for name in parts]
    random.Random(3).shuffle(names)
    assert rows_of(source(*names)) == expected
    assert rows_of(source(tmp_path)) == expected + documents(3, 99)
    assert rows_of(source(tmp_path, tmp_path / "part-0.parquet")) == expected + documents(3, 99)
    assert rows_of(source("*.parquet", cwd=tmp_path)) == expected
    total = len(expected)
    for skip in (5, 12, total):
        assert rows_of(source(tmp_path / "*.parquet", resume=skip)) == expected[skip:]


def test_other_file_systems_of_fsspec_are_read_too(tmp_path):
    """memory:// lives in one process: the script is run in it, with its main()."""
    write(tmp_path / "a.parquet", documents(12))
    write(tmp_path / "b.jsonl.gz", documents(5, 2))
    program = f"""
import fsspec, sys
for name in ("a.parquet", "b.jsonl.gz"):
    with fsspec.open("memory://bucket/" + name, "wb") as out:
        out.write(open({str(tmp_path)!r} + "/" + name, "rb").read())
sys.path.insert(0, {str(SCRIPT.parent)!r})
import riffle_source
sys.exit(riffle_source.main(["memory://bucket/*"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert rows_of(done) == documents(12) + documents(5, 2)


def test_columns_are_chosen_in_the_order_given(tmp_path):
    rows = [{"id": 1, "text": "a", "more": {"deep": [1, None]}}]
    for name in ("x.parquet", "x.arrow", "x.feather", "x.jsonl"):
        write(tmp_path / name, rows)
        assert source(tmp_path / name, "--columns", "more,id").stdout == b'{"more":{"deep":[1,null]},"id":1}\n'
        bad = source(tmp_path / name, "--columns", "id,body", check=False)
        assert bad.returncode == 1 and b"body" in bad.stderr and name.encode() in bad.stderr


def test_values_that_json_lacks(tmp_path):
    rows = [{
        "bytes": b"text", "raw": b"\xff\x00", "time": datetime.datetime(2026, 1, 2, 3, 4, 5, 6), "day": datetime.date(2026, 1, 2),
        "number": decimal.Decimal("1.50"), "nan": float("nan"), "inf": float("inf"), "none": None, "list": [[1], []],
        "long": 2**62, "struct": {"a": [b"x"]}, "length": datetime.timedelta(seconds=90),
    }]
    write(tmp_path / "x.parquet", rows)
    assert json.loads(source(tmp_path / "x.parquet").stdout.decode(errors="surrogateescape")) == {
        "bytes": "text", "raw": "\udcff\0", "time": "2026-01-02T03:04:05.000006", "day": "2026-01-02", "number": "1.50",
        "nan": None, "inf": None, "none": None, "list": [[1], []], "long": 2**62, "struct": {"a": ["x"]}, "length": 90.0,
    }


@pytest.fixture
def ids_of(riffle, vocab):
    """ids_of(path) -> what riffle tokenize makes of the records."""
    return lambda path: riffle("tokenize", "--tokenizer", vocab / "cl100k_base.tiktoken", "--pattern", "cl100k", path).stdout


# The bytes of a JSON string, and what riffle-source prints for it.
STRINGS = [
    (rb"a\udbc0b", "a\ufffdb".encode()),
    (rb"\udc4d\ud83d", "\ufffd\ufffd".encode()),
    (rb"\ud83d\ud83d\udc4d", "\ufffd\U0001f44d".encode()),
    (rb"\uD83D\uDC4D \uDBFF\udfff", "\U0001f44d \U0010ffff".encode()),
    (rb"\udc80 \udcff \uD800", "\ufffd \ufffd \ufffd".encode()),
    (rb"\\ud83d \\\ud83d \\\\udc4d", rb"\\ud83d \\\ufffd \\\\udc4d".replace(rb"\ufffd", "\ufffd".encode())),
    (rb"\ud83dA \ud83d\u0041 \ud7ff\ue000", "\ufffdA \ufffdA \ud7ff\ue000".encode()),
    (b"a\xff\xfeb", b"a\xff\xfeb"),
    (b"caf\xe9 \xc3\xa9 \xe4\xb8", b"caf\xe9 \xc3\xa9 \xe4\xb8"),
    (b"\xed\xa0\xbd\xed\xb1\x8d", b"\xed\xa0\xbd\xed\xb1\x8d"),
    (b"\xff \\udcff \\ud83d", b"\xff " + "\ufffd \ufffd".encode()),
]


@pytest.mark.parametrize("within, printed", STRINGS)
def test_a_line_has_the_tokens_that_it_has_in_a_file(tmp_path, ids_of, within, printed):
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "' + within + b'"}\n')
    done = source(tmp_path / "x.jsonl")
    assert done.stdout == b'{"text":"' + printed + b'"}\n' and done.stderr == b""
    (tmp_path / "y.jsonl").write_bytes(done.stdout)
    assert ids_of(tmp_path / "y.jsonl") == ids_of(tmp_path / "x.jsonl")


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.feather"])
def test_bytes_that_are_not_utf_8_are_printed_unchanged(tmp_path, ids_of, name):
    raw = b"caf\xe9 \xed\xa0\xbd\n\xff\"\\"
    write(tmp_path / name, [{"text": raw, "more": [{"b": raw}], "e": b"\xc3\xa9"}])
    printed = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    done = source(tmp_path / name)
    assert done.stdout == b'{"text":"' + printed + b'","more":[{"b":"' + printed + b'"}],"e":"\xc3\xa9"}\n'
    (tmp_path / "out.jsonl").write_bytes(done.stdout)
    (tmp_path / "x.txt").write_bytes(raw)
    assert ids_of(tmp_path / "out.jsonl") == ids_of(tmp_path / "x.txt")


@pytest.mark.parametrize("name", FORMS)
def test_a_damaged_file_is_said_after_what_could_be_read(tmp_path, name):
    write(tmp_path / name, documents(300))
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2] if name != "x.jsonl" else data[:-9])
    done = source(tmp_path / name, check=False)
    assert done.returncode == 1 and name.encode() in done.stderr and done.stderr.count(b"\n") == 1, done.stderr


@pytest.mark.parametrize("content", [b"", b"a text\n" * 9], ids=["empty", "text"])
@pytest.mark.parametrize("name", [name for name in FORMS if name != "x.jsonl"])
def test_a_file_of_another_format_is_told_what_to_do(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    done = source(tmp_path / name, check=False)
    if name.endswith((".gz", ".zst")) and not content:  # nothing compressed: no rows
        assert done.returncode == 0
        return
    said, ending = done.stderr.decode(), "." + name.rpartition(".")[2]
    assert done.returncode == 1 and said.count("\n") == 1 and "Traceback" not in said
    assert f"{name}: cannot be read as a {ending} file: " in said and "If it has another format, rename it" in said


@pytest.mark.parametrize("words, code, why", [
    ([], 2, "riffle-source: give FILE, or --dataset ID; see riffle-source --help\n"),
    (["x.jsonl", "--colums", "a"], 2, "riffle-source: unknown option --colums (did you mean --columns?); see "),
    (["--colums=a", "x.jsonl"], 2, "riffle-source: unknown option --colums (did you mean --columns?); see "),
    (["x.jsonl", "--limit", "1", "list.jsonl"], 2, "riffle-source: list.jsonl: give every FILE before the first option; see "),
    (["x.jsonl", "--nothing"], 2, "riffle-source: unknown option --nothing; see "),
    (["nothing.parquet"], 2, "nothing.parquet: no file matches in "),
    (["*.parquet"], 2, "*.parquet: no file matches in "),
    (["lst.jsonl"], 2, " (did you mean list.jsonl?); it has escape.jsonl, "),
    (["lsit/a.jsonl"], 2, "; it has escape.jsonl, "),
    (["memory://none"], 2, "memory://none: no file matches\n"),
    (["x.csv"], 1, "its name does not say what it is"),
    (["x.jsonl", "--columns", "a,,b"], 2, "--columns"),
    (["x.jsonl", "--columns", "a,a"], 2, "--columns"),
    (["x.jsonl", "--limit", "-1"], 2, "--limit"),
    (["x.jsonl", "--revision", "1"], 2, "need --dataset"),
    (["--dataset", "x", "--watch", "1"], 2, "--watch needs files"),
    (["list.jsonl"], 1, "line 2: no object, but list; this looks like a JSON array: riffle reads one JSON object per line. "
                        "Convert the file: jq -c '.[]' FILE > FILE.jsonl\n"),
    (["pretty.jsonl"], 1, "; this looks like a JSON object over several lines: riffle reads one JSON object per line. "
                          "Convert the file: jq -c . FILE > FILE.jsonl\n"),
    (["escape.jsonl"], 1, "line 2: invalid JSON at character 7: Invalid \\escape"),
    (["pipe.jsonl"], 1, "pipe.jsonl: is not a regular file"),
    (["null.jsonl"], 1, "null.jsonl: is not a regular file"),
    (["nosuch://x"], 1, "nosuch://x: unknown scheme. Use gs://"),
    (["x{1..2}.jsonl"], 2, "x1.jsonl: no file matches"),
    (["x{1..2.jsonl"], 2, "x{1..2.jsonl: a brace has no partner"),
])
def test_what_is_wrong_is_said(tmp_path, words, code, why):
    (tmp_path / "x.csv").write_text("a,b\n")
    (tmp_path / "pretty.jsonl").write_text('{\n "a": 1\n}\n')
    (tmp_path / "x.jsonl").write_text("{}\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "null.jsonl").symlink_to(os.devnull)
    (tmp_path / "list.jsonl").write_text("{}\n[1]\n")
    (tmp_path / "escape.jsonl").write_text('{"a": "\\ud83d"}\n{"a": "\\UD83D"}\n')
    done = source(*words, check=False, cwd=tmp_path)
    assert done.returncode == code and why in done.stderr.decode(), done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("scheme, package", [("gs", "gcsfs"), ("s3", "s3fs"), ("https", "aiohttp")])
def test_a_store_whose_package_is_missing_is_named_with_the_pip_command(scheme, package):
    program = f"import sys; sys.modules[{package!r}] = None; sys.path.insert(0, {str(SCRIPT.parent)!r}); import riffle_source; " \
              f"sys.exit(riffle_source.main(['{scheme}://bucket/x.parquet']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert f"{scheme}://bucket/x.parquet needs the Python package {package}: pip install {package} (" in done.stderr


def test_what_a_file_system_raises_is_one_line():
    program = f"""
import fsspec, sys
class Broken(fsspec.AbstractFileSystem):
    protocol = "broken"
    def info(self, path, **_):
        raise Exception("no\\nconnection")
fsspec.register_implementation("broken", Broken)
sys.path.insert(0, {str(SCRIPT.parent)!r})
import riffle_source
sys.exit(riffle_source.main(["broken://x/a.parquet"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "riffle-source: broken://x/a.parquet: Exception: no\\nconnection\n")


def test_a_name_in_a_message_neither_begins_a_line_nor_sets_the_terminal(tmp_path):
    name = "a\x1b[31m\nFAKE\x9b\u202e.jsonl.gz"
    (tmp_path / name).write_bytes(b"not gzip")
    (tmp_path / os.fsdecode(b"b\xff.csv")).touch()
    done = source(tmp_path / name, check=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and said.count("\n") == 1
    assert r"a\x1b[31m\nFAKE\u009b\u202e.jsonl.gz: " in said
    assert rb"b\xff.csv: " in source(tmp_path / os.fsdecode(b"b\xff.csv"), check=False).stderr


@pytest.mark.parametrize("source, words", [
    ("x.{1..3}", "x.1 x.2 x.3"), ("{08..10}", "08 09 10"), ("{a,b{1,2}}", "a b1 b2"), ("x{,y}", "x xy"), ("{}{a}", "{}{a}"),
    (r"\{1..3\}", "{1..3}"), ("x", "x"),
])
def test_braces_stand_for_several_sources(monkeypatch, source, words):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import riffle_source

    assert riffle_source.expand_sources([source]) == words.split(" ")


def test_braces_name_files(tmp_path):
    for i in (1, 2, 3, 10):
        write(tmp_path / f"x.{i}.jsonl", documents(2, i))
    expected = documents(2, 1) + documents(2, 10) + documents(2, 2)
    assert rows_of(source(tmp_path / "x.{1..2}.jsonl", tmp_path / "x.{10,1}.json*")) == expected
    write(tmp_path / "{1..2}.jsonl", documents(3))
    assert rows_of(source(f"{tmp_path}/\\{{1..2\\}}.jsonl")) == documents(3)


def test_unfinished_files_of_other_programs_are_left_out(tmp_path):
    base = tmp_path / ".cache"  # the source names it
    for i, name in enumerate(("out/lang=en/part.jsonl", "out/_lang=fr/part.jsonl", "out/_temporary/0/part.jsonl",
                              "out/_delta_log/0.json", "out/lang=en/.part.jsonl", "out/lang=en/_part.jsonl")):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        write(base / name, documents(1, i))
    rows = [documents(1, i)[0] for i in range(6)]
    for words in (base / "out", base / "out/**", base / "out/**/*.json*"):
        done = source(words)
        assert rows_of(done) == [rows[1], rows[0]], words
        assert b"left out 4 files, such as file://" in done.stderr and b"_delta_log/0.json" in done.stderr
    assert source(base / "out/lang=en/p*").stderr == b""
    for words, found in (([base / "out/_*/0/*"], [2]), ([base / "out/_delta_log"], [3]), ([base / "out/*/.*"], [4]),
                         ([base / "out/lang=en/_part.jsonl"], [5])):
        done = source(*words)
        assert rows_of(done) == [rows[i] for i in found] and done.stderr == b"", words
    alone = source(base / "out/_temporary/../lang=en/?part.jsonl", check=False)
    assert alone.returncode == 2 and b"no file matches; left out 2 files" in alone.stderr


@pytest.mark.parametrize("window", [27, 28, 31])
def test_zstd_windows_are_read_up_to_the_largest(tmp_path, window):
    rows = documents(50)
    options = zstandard.ZstdCompressionParameters.from_level(1, window_log=window, enable_ldm=True)
    packed = b""
    for part in (rows[:20], rows[20:]):  # two frames
        frame = zstandard.ZstdCompressor(compression_params=options).compressobj()
        packed += frame.compress("".join(json.dumps(row) + "\n" for row in part).encode()) + frame.flush()
    (tmp_path / "x.jsonl.zst").write_bytes(packed)
    assert rows_of(source(tmp_path / "x.jsonl.zst")) == rows


@pytest.mark.parametrize("resume, why", [("x", "must be a number"), ("-1", "must be a number"), ("4", "1 fewer")])
def test_a_resume_that_cannot_be(tmp_path, resume, why):
    write(tmp_path / "x.parquet", documents(3))
    done = source(tmp_path / "x.parquet", resume=resume, check=False)
    assert done.returncode == 1 and why in done.stderr.decode()


def test_help_names_every_option_and_the_requirements():
    text = source("--help", alone=True).stdout.decode()
    for word in ("--columns", "--limit", "--watch", "--dataset", "--name", "--split", "--revision", "--download",
                 "RIFFLE_RESUME", "pyarrow", "gs://", "s3://", "--chat"):
        assert word in text


@pytest.mark.parametrize("download", [[], ["--download"]])
def test_a_dataset_of_a_local_folder(tmp_path, download):
    (tmp_path / "set").mkdir()
    for i in range(2):
        write(tmp_path / "set" / f"train-{i}.parquet", documents(9, i))
    expected = documents(9, 0) + documents(9, 1)
    words = ["--dataset", tmp_path / "set", *download]
    assert rows_of(source(*words)) == expected
    assert rows_of(source(*words, resume=10)) == expected[10:]
    assert rows_of(source(*words, "--columns", "text", "--limit", 3)) == [{"text": r["text"]} for r in expected[:3]]
    bad = source(*words, "--columns", "body", check=False)
    assert bad.returncode == 1 and b"no column body" in bad.stderr
    assert source("--dataset", tmp_path / "none", *download, check=False).returncode == 1


def test_a_folder_that_save_to_disk_wrote(tmp_path):
    import datasets  # takes a second, which the collection of every worker would pay

    rows = documents(20)
    one = datasets.Dataset.from_list(rows)
    one.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": one, "valid": one.select([3, 4])}).save_to_disk(tmp_path / "two")
    assert rows_of(source("--dataset", tmp_path / "one")) == rows
    assert rows_of(source("--dataset", tmp_path / "one", "--columns", "id", resume=18)) == [{"id": 18}, {"id": 19}]
    assert rows_of(source("--dataset", tmp_path / "two", "--split", "valid")) == rows[3:5]
    bad = source("--dataset", tmp_path / "two", "--split", "test", check=False)
    assert bad.returncode == 1 and b"no split test: there are train, valid" in bad.stderr
    bad = source("--dataset", tmp_path / "one", "--name", "en", check=False)
    assert bad.returncode == 1 and b"has no --name" in bad.stderr


def test_watching_goes_on_with_new_files_and_says_where_one_sorts_before(tmp_path):
    write(tmp_path / "b.jsonl", documents(2))
    process = subprocess.Popen([sys.executable, SCRIPT, f"{tmp_path}/*.jsonl", "--watch", "0.05"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert [json.loads(process.stdout.readline()) for _ in range(2)] == documents(2)
    (tmp_path / ".a.jsonl").write_text("{")  # is still being written
    (tmp_path / "new").write_text("".join(json.dumps(r) + "\n" for r in documents(3, 5)))
    (tmp_path / "new").rename(tmp_path / "c.jsonl")
    assert [json.loads(process.stdout.readline()) for _ in range(3)] == documents(3, 5)
    (tmp_path / "a.jsonl").write_text("{}\n")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and out == b"" and b"a.jsonl: came after" in errors


def test_whoever_reads_may_end_first(tmp_path):
    write(tmp_path / "x.parquet", documents(20_000), group=2_000)  # more than a pipe holds
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' '{SCRIPT}' '{tmp_path}/x.parquet' | head -n 1"],
                          capture_output=True, timeout=60)
    assert done.stderr == b"" and json.loads(done.stdout) == documents(1)[0]


def test_ctrl_c_and_a_full_output_end_it_without_a_traceback(tmp_path):
    write(tmp_path / "x.jsonl", documents(2))
    words = [sys.executable, SCRIPT, tmp_path / "x.jsonl"]
    with subprocess.Popen([*words, "--watch", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b"" and process.returncode == -signal.SIGINT
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"riffle-source: writing to standard output: No space left on device\n")


@pytest.mark.parametrize("mask, ranges", [([], []), ([1, 1], []), ([0, 0, 0], [[0, 3]]), ([0, 0, 1, 0, 1, 1, 0, 0], [[0, 2], [3, 4], [6, 8]]),
                                          ([1, 0], [[1, 2]])])
def test_stretches_without_loss_are_half_open_ranges(monkeypatch, mask, ranges):
    monkeypatch.syspath_prepend(pathlib.Path(__file__).parents[2] / "python")
    import riffle_source

    assert riffle_source.ranges(mask) == ranges


@pytest.fixture
def chat(monkeypatch):
    """chat(*WORDS): what makes a record of a row with these options, over a tokenizer that counts characters."""
    monkeypatch.syspath_prepend(pathlib.Path(__file__).parents[2] / "python")
    import riffle_source

    class Tokenizer:
        chat_template = "{% generation %}{% endgeneration %}"
        asked = None

        def apply_chat_template(self, messages, **options):
            Tokenizer.asked = messages, options
            said = [(len(m["content"]), m["role"] == "assistant") for m in messages]
            return {"input_ids": [n for n, _ in said], "assistant_masks": [int(mine) for _, mine in said]}

        @classmethod
        def from_pretrained(cls, name, revision=None):
            return cls()

    modules = {"transformers": type("transformers", (), {"AutoTokenizer": Tokenizer}), "jinja2": None}
    monkeypatch.setattr(riffle_source, "need", lambda module, what: modules[module])

    def make(*words):
        make.tokenizer = Tokenizer
        return riffle_source.Chat(riffle_source.arguments(["x.jsonl", "--chat", "t", *words]))

    make.Failure = riffle_source.Failure
    return make


ROW = {"messages": [{"role": "user", "content": "abc", "name": None}, {"role": "assistant", "content": "ab", "name": None}], "tools": [1],
       "id": 7}


@pytest.mark.parametrize("words, record", [
    ([], {"tokens": [3, 2], "no_loss": [[0, 1]]}),
    (["--loss", "all"], {"tokens": [3, 2]}),
    (["--prompt-only"], {"tokens": [3, 2], "no_loss": [[0, 2]], "eos": False}),
    (["--keep", "id"], {"tokens": [3, 2], "no_loss": [[0, 1]], "keep": {"id": 7}}),
])
def test_a_chat_has_the_loss_that_the_options_ask_for(chat, words, record):
    assert chat(*words)(ROW) == record
    messages, options = chat.tokenizer.asked
    assert messages == [{"role": "user", "content": "abc"}, {"role": "assistant", "content": "ab"}]  # null: this message has no such key
    assert options["add_generation_prompt"] == ("--prompt-only" in words) and options["return_assistant_tokens_mask"] == ("no_loss" in record and (
        "eos" not in record))
    assert options["tools"] is None


def test_a_chat_whose_columns_or_template_do_not_fit_is_refused(chat):
    with pytest.raises(chat.Failure, match="no column tools: there are messages"):
        chat("--tools", "tools")({"messages": []})
    with pytest.raises(chat.Failure, match="column messages is not a list of messages"):
        chat()({"messages": ["hello"]})
    chat()
    chat.tokenizer.chat_template = "{{ messages }}"
    with pytest.raises(chat.Failure, match="does not mark what the assistant says"):
        chat()
    chat("--loss", "all")
    chat("--prompt-only")
    chat.tokenizer.chat_template = None
    with pytest.raises(chat.Failure, match="has no chat template"):
        chat("--loss", "all")


# ---- parts, without a process


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import riffle_source

    return riffle_source


def test_what_is_inside_of_a_value_is_changed_as_the_value_is(parts):
    delta = datetime.timedelta(days=2, seconds=3, microseconds=500_000)
    for value, strict, replaced in ((b"\xff", "\udcff", "\ufffd"), (math.inf, None, None), (-math.inf, None, None), (math.nan, None, None),
                                    (delta, 172803.5, 172803.5), (numpy.float64("inf"), None, None), (1.5, 1.5, 1.5)):
        for wrap in (lambda v: v, lambda v: [v], lambda v: (v, v), lambda v: {1: v}, lambda v: {"a": [{"b": v}]}):
            for errors, expected in (("surrogateescape", strict), ("replace", replaced)):
                found = parts.plain(wrap(value), errors)
                assert json.dumps(found) == json.dumps(wrap(expected))
        assert parts.plain(value) == strict
    assert parts.plain(numpy.array([b"\xff"], object), "replace") == ["\ufffd"]


def read(parts, text, columns=None, skip=0, limit=None, change=None):
    """What read_lines makes of a text, and the rows still to be left out."""
    out = io.BytesIO()
    printer = parts.Printer(out, skip, limit, change)
    parts.read_lines(io.BytesIO(text), columns, printer)
    return out.getvalue(), printer.skip


def test_blank_lines_are_no_rows_but_have_numbers(parts):
    text = b'\n{"a":1,"b":2}\n \t\n{"b":4,"a":3}\n\n{"a":5,"b":6}'
    rows = [b'{"a":1,"b":2}\n', b'{"b":4,"a":3}\n', b'{"a":5,"b":6}\n']
    for skip in range(5):
        for limit in (None, 1, 2, 3):
            assert read(parts, text, skip=skip, limit=limit) == (b"".join(rows[skip:][:limit]), max(0, skip - 3))
    assert read(parts, text, ["b", "a"])[0] == b'{"b":2,"a":1}\n{"b":4,"a":3}\n{"b":6,"a":5}\n'
    for bad, says in ((b"\n\n[1]", "line 3: no object, but list"), (b"{}\n\n{", "line 3: invalid JSON at character 1: Expecting"),
                      (b"\xff\x01", "line 1: invalid JSON at character 0: Expecting value; each line must be a JSON object. If the file has another"),
                      (b'{"c":1,"a":1}\n{"b":1,"c":1}', "line 2: no field a: there are b, c")):
        with pytest.raises(parts.Failure, match=says):
            read(parts, bad, ["a"] if b"b" in bad else None)


def test_a_line_is_whole_wherever_blocks_of_the_file_end(parts, monkeypatch):
    text = b"ab\n\nc\xc3\xa9d\nlast"
    for block in range(1, len(text) + 2):
        monkeypatch.setattr(parts, "BLOCK", block)
        for end in (b"", b"\n"):
            assert list(parts.lines_of(io.BytesIO(text + end))) == text.split(b"\n")


def test_bytes_that_are_not_utf_8_come_out_as_they_are_but_for_a_chat(parts):
    assert read(parts, b'{"a":"\xff"}')[0] == b'{"a":"\xff"}\n'
    assert read(parts, b'{"a":"\xff"}', change=lambda row: row)[0] == '{"a":"\ufffd"}\n'.encode()


def test_frames_of_zstd_are_read_one_after_the_other_and_a_part_of_one_is_refused(parts, monkeypatch):
    frames = [zstandard.compress(word * 50) for word in (b"one", b"", b"three")]
    for block in (1, 7, 1 << 16):
        monkeypatch.setattr(parts, "ZSTD_BLOCK", block)

        def whole(stored):
            return b"".join(parts.ZstdFile(io.BytesIO(stored)).pieces)
        for n in range(4):
            assert whole(b"".join(frames[:n])) == b"".join([b"one" * 50, b"", b"three" * 50][:n])
        for cut in range(1, len(frames[2])):
            with pytest.raises(parts.Failure, match="truncated"):
                whole(frames[0] + frames[2][:-cut])


@pytest.mark.parametrize("name, reader, packed", [
    ("a.parquet", "parquet", None), ("A.PARQUET", "parquet", None), ("a.JSONL.GZ", "lines", "gzip"), ("a.jsonl.zst", "lines", "zstd"),
    ("a.arrow", "arrow", None), ("a.gz", None, None), ("jsonl", None, None), ("a.jsonl.bak", None, None), ("a.csv", None, None)])
def test_a_name_says_how_a_file_is_read(parts, name, reader, packed):
    found = parts.kind(name)
    assert found == (reader and getattr(parts, f"read_{reader}"), packed)


@pytest.mark.parametrize("path, source, hidden", [
    ("/d/a", "/d", False), ("/d/_a", "/d", True), ("/d/.a", "/d", True), ("/d/_l=en/a", "/d", False), ("/d/_l=en/_a", "/d", True),
    ("/d/.l=en/a", "/d", True), ("/d/_x/l=en/a", "/d", True), ("/_d/a", "/_d", False), ("/.d/a", "/.d", False), ("/.d/_a", "/.d", True),
    ("/d/_a", "/d/_a", False), ("/d/.a", "/d/.*", False), ("/d/_a", "/d/_*", False), ("/d/.a", "/d/_*", True), ("/d/_a", "/d/*", True)])
def test_a_name_is_hidden_unless_it_is_asked_for(parts, path, source, hidden):
    assert parts.is_hidden(path, source) == hidden


def test_what_one_source_hides_and_another_names_is_not_left_out(parts, tmp_path):
    for name in ("b.jsonl", "_a.jsonl", "c.txt"):
        (tmp_path / name).write_text("")
    found, hidden = parts.list_files([f"{tmp_path}/", f"{tmp_path}/_a.jsonl", f"{tmp_path}/c.txt", f"{tmp_path}/b*"])
    assert [os.path.basename(name) for _, _, name in found] == ["_a.jsonl", "b.jsonl", "c.txt"] and hidden == set()
    assert len(parts.list_files([str(tmp_path)])[1]) == 1


@pytest.mark.parametrize("text, expected", [
    ("\n\t\r", r"\n\t\r"), ("\x00\x1b\x1f \x7e\x7f", r"\x00\x1b\x1f ~\x7f"), ("\x80\x9f\xa0", "\\u0080\\u009f\xa0"),
    ("\udc80\udcff", r"\x80\xff"), ("\udc7f\udd00\ud800", r"\udc7f\udd00\ud800"), ("\u2028\u202f\u2065\u2066\u200e", "\\u2028\u202f\u2065\\u2066\\u200e"),
])
def test_a_message_has_no_control_character(parts, text, expected):
    assert parts.shown(text) == expected


@pytest.mark.parametrize("words", [
    ["x", "--watch", "0"], ["x", "--watch", "-1"], ["x", "--chat-revision", "r"], ["x", "--chat-template", "f"], ["x", "--tools", "t"],
    ["x", "--keep", "k"], ["x", "--prompt-only"], ["x", "--chat", "t", "--columns", "a"], ["x", "--name", "n"], ["x", "--revision", "r"],
    ["x", "--download"], ["--dataset", "d", "--watch", "1"], ["x", "--limit", "-1"], ["x", "--columns", "a, a"], ["x", "--columns", "a, "],
    ["--chat", "t"]])
def test_options_that_need_another_one_are_refused_each_alone(parts, words, capsys):
    with pytest.raises(SystemExit):
        parts.arguments(words)


def test_options_have_the_values_that_are_given(parts, monkeypatch):
    a = parts.arguments(["x", "--columns", "a, b ,c", "--limit", "0", "--watch", "0.5"])
    assert (a.columns, a.limit, a.watch, a.keep) == (["a", "b", "c"], 0, 0.5, [])
    assert parts.arguments(["x", "--chat", "t", "--keep", " k, l "]).keep == ["k", "l"]
    for text, rows in (("0", 0), ("007", 7), ("²", None), ("٣", None), ("", None), (" 1", None), ("+1", None)):
        monkeypatch.setenv("RIFFLE_RESUME", text)
        if rows is None:
            with pytest.raises(parts.Failure):
                parts.resume()
        else:
            assert parts.resume() == rows


@pytest.mark.parametrize("looks, read, refused", [
    (["b d", "b d e"], "bde", None), (["b d", "a b d"], "bd", "a"), (["b d", "b c d"], "bd", "c"), (["b d", "d", "b d e"], "bde", None),
    (["b", "b d", "b c d e"], "bd", "c")])
def test_a_new_file_sorts_behind_all_that_were_read_and_hidden_ones_are_told_once(parts, monkeypatch, capsys, looks, read, refused):
    rest, found = [look.split() for look in looks], []

    def sleep(_):
        if not rest:
            raise KeyboardInterrupt

    monkeypatch.setattr(parts, "list_files", lambda _: ([(None, name, name) for name in rest.pop(0)], {"_x"}))
    monkeypatch.setattr(parts, "print_file", lambda fs, path, name, columns, printer: found.append(name))
    monkeypatch.setattr(parts.time, "sleep", sleep)
    with pytest.raises(parts.Failure if refused else KeyboardInterrupt, match=f"{refused}: came after" if refused else None):
        parts.print_sources(parts.arguments(["x", "--watch", "1"]), parts.Printer(io.BytesIO(), 0, None))
    assert "".join(found) == read and capsys.readouterr().err.count("left out") == 1
