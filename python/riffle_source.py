#!/usr/bin/env python3
"""riffle-source: prints rows of Parquet, Arrow or Hugging Face datasets as JSON lines, for a domain's exec:.

    domains:
      web:  {exec: "riffle-source 's3://bucket/web/*.parquet' --columns text,url"}
      wiki: {exec: "riffle-source --dataset wikimedia/wikipedia --name 20231101.en --revision REV"}
      chat: {exec: "riffle-source chat.parquet --chat meta-llama/Llama-3.2-1B-Instruct", tokens: jsonl}

Sources are files or globs: local paths, or any address that fsspec knows (gs://, s3://, hf://, https://,
memory://, file://), of .parquet, .arrow, .feather (Arrow's file and stream formats), .jsonl and .json (one
object a line), plain or .gz or .zst. {a,b} and {1..9} in a source stand for several, as in `train`; \\{ and \\}
are ordinary braces. Folders, * and ** leave out files and folders whose names begin with _ or ., where Spark
and others keep unfinished files. A pattern such as _*.jsonl still finds them. riffle-source sorts all files
by their full names and reads them in that order, row group after row group, so that every run prints the
same lines. `riffle produce` relies on that: with the same data it may be ended at any moment and resume. A
folder that Dataset.save_to_disk() wrote is a dataset too: --dataset FOLDER.

RIFFLE_RESUME=N in the environment leaves out the first N rows (of Parquet and Arrow files without
reading them). `riffle produce --follow` sets it; with --watch this program continues with files that sort
after those it has read, and fails if another one appears.

Values that JSON lacks: bytes become text; times become ISO 8601; decimals text; numbers that are not
finite become null. Bytes that are not UTF-8 are printed unchanged, and riffle treats them as those of a
file: they become U+FFFD, with a warning if there are many, or the record is rejected under `utf8: strict`.
In the messages of --chat they become U+FFFD. Half of a surrogate pair (\\ud83d) becomes U+FFFD, as in a file.

--chat makes tokens of rows that hold lists of messages, [{"role": "user", "content": "..."}, ...], by
transformers' apply_chat_template: lines for a domain with `tokens: jsonl`. Only what the template marks
as the assistant's, {% generation %}, is a target; --loss all makes every token one. --prompt-only prints
prompts for sampling: with the template's beginning of an answer, no targets, no eos.

Files need the Python packages pyarrow and fsspec, .zst zstandard, braces braceexpand, datasets datasets;
gs:// needs gcsfs, s3:// s3fs, https:// aiohttp, --chat transformers and jinja2. Exit 0 when all is printed, 1
if something cannot be read, 2 for a wrong command line or a source without a file.
"""

import argparse
import datetime
import decimal
import difflib
import fnmatch
import io
import json
import math
import os
import re
import signal
import sys
import time

ROWS = 1024  # of a batch: what is in memory at once
BLOCK = 1 << 20  # bytes of a file of lines that are read at once
ZSTD_BLOCK = 1 << 14  # compressed bytes that are decompressed at once, to perhaps a thousand times as many
ZSTD_WINDOW = 1 << 31  # bytes, the most that zstd --long makes
FILES_SHOWN = 20  # of a folder without the file that is asked for
COMPRESSED = (".gz", ".zst")
PARQUET, ARROW, LINES = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".jsonl", ".json", ".ndjson")


class Failure(Exception):
    """A sentence for a person; the program ends with `code`."""

    code = 1


class NoFile(Failure):
    code = 2


def need(module, what):
    try:
        return __import__(module, fromlist=["_"])
    except ImportError as e:
        raise missing_package(what, module, e) from None


def missing_package(what, module, error):
    name = module.split(".")[0]
    return Failure(f"{what} needs the Python package {name}: pip install {name} ({error})")


def check_columns(columns, names, missing="no column"):
    """Refuses a column that `names` lacks."""
    for column in columns or []:
        if column not in names:
            raise Failure(f"{missing} {column}: there are {', '.join(names)}")


# ---- values


def plain(value, errors="surrogateescape"):
    """
    A value as JSON has it; the same for the same value, on any machine. `errors` is what Python makes of bytes that are
    not UTF-8: surrogates from which Printer makes the same bytes again, or U+FFFD ("replace").
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", errors)
    if isinstance(value, dict):
        return {str(k): plain(v, errors) for k, v in value.items()}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist(), errors)
    if hasattr(value, "isoformat"):  # pandas
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(v, errors) for v in value]
    raise Failure(f"a value of type {type(value).__name__} has no JSON; leave its column out with --columns")


class Output(io.FileIO):
    """Standard output. If it takes no more, the program ends at once, because no source is at fault."""

    def write(self, block):
        try:
            return super().write(block)
        except OSError as e:
            print(f"riffle-source: writing to standard output: {e.strerror}", file=sys.stderr, flush=True)
            os._exit(1)


class Printer:
    """Prints rows, or what `change` makes of them; leaves out the first `skip`."""

    def __init__(self, out, skip, limit, change=None):
        self.out, self.skip, self.left, self.change = out, skip, limit, change

    def full(self):
        return self.left == 0

    def leave_out(self, n):
        """How many of the next n rows are not wanted, from their start."""
        k = min(self.skip, n)
        self.skip -= k
        return k

    def put(self, row):
        if self.left == 0:
            return
        if self.left is not None:
            self.left -= 1
        if self.change:
            row = self.change(row)
        text = json.dumps(plain(row), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.out.write(text.encode("utf-8", "surrogateescape") + b"\n")


# ---- files


def put_batches(batches, columns, printer):
    """`batches` are Arrow record batches."""
    for batch in batches:
        if columns:
            check_columns(columns, batch.schema.names)
            batch = batch.select(columns)
        first = printer.leave_out(batch.num_rows)
        for at in range(first, batch.num_rows, ROWS):
            for row in batch.slice(at, ROWS).to_pylist():
                printer.put(row)
            if printer.full():
                return


def read_parquet(file, columns, printer):
    parquet = need("pyarrow.parquet", "a Parquet file")
    source = parquet.ParquetFile(file)
    check_columns(columns, source.schema_arrow.names)
    for i in range(source.num_row_groups):
        rows = source.metadata.row_group(i).num_rows
        if printer.skip >= rows:  # not even read
            printer.leave_out(rows)
            continue
        put_batches(source.iter_batches(batch_size=ROWS, row_groups=[i], columns=columns), columns, printer)
        if printer.full():
            return


def read_arrow(file, columns, printer):
    ipc = need("pyarrow.ipc", "an Arrow file")
    magic = file.read(6)
    file.seek(0)
    if magic == b"ARROW1":
        source = ipc.open_file(file)
        batches = (source.get_batch(i) for i in range(source.num_record_batches))
    else:
        batches = ipc.open_stream(file)
    put_batches(batches, columns, printer)


def lines_of(file):
    """Lines of a stream that need not know them itself, as Arrow's do not."""
    begun = b""
    while block := file.read(BLOCK):
        *whole, begun = (begun + block).split(b"\n")
        yield from whole
    if begun:
        yield begun


# An escaped backslash, a pair of surrogates, or half of one, which has 6 characters.
SURROGATE = re.compile(r"\\(?:\\|u(?i:d[89ab][\da-f]{2})\\u(?i:d[c-f][\da-f]{2})|u(?i:d[89a-f][\da-f]{2}))", re.A)


def parse(line, errors):
    """The value of a JSON line: half of a pair of surrogates is U+FFFD; `errors` as of plain()."""
    text = line.decode(json.detect_encoding(line), errors)
    if "\\u" in text:
        text = SURROGATE.sub(lambda m: r"\ufffd" if len(m[0]) == 6 else m[0], text)
    return json.loads(text)


ONE_A_LINE = "riffle reads one JSON object per line. Convert the file: jq -c "


def json_hint(line):
    """What a line that is no object suggests about its file, as `riffle produce` says it."""
    start = line.strip()
    if start[:1] == b"[":
        return f"; this looks like a JSON array: {ONE_A_LINE}'.[]' FILE > FILE.jsonl"
    if start[:1] != b"{":
        return "; each line must be a JSON object. If the file has another format, rename it so that its ending says which"
    return f"; this looks like a JSON object over several lines: {ONE_A_LINE}. FILE > FILE.jsonl" if start == b"{" else ""


def read_lines(file, columns, printer):
    errors = "replace" if printer.change else "surrogateescape"
    for number, line in enumerate(lines_of(file), 1):
        if not line.strip():
            continue
        if printer.leave_out(1):
            continue
        try:
            row = parse(line, errors)
        except ValueError as e:
            why = f"invalid JSON at character {e.pos}: {e.msg}" if isinstance(e, json.JSONDecodeError) else e
            raise Failure(f"line {number}: {why}{json_hint(line)}") from None
        if not isinstance(row, dict):
            raise Failure(f"line {number}: no object, but {type(row).__name__}{json_hint(line)}")
        if columns:
            check_columns(columns, row, f"line {number}: no field")
            row = {c: row[c] for c in columns}
        printer.put(row)
        if printer.full():
            return


def kind(name):
    """The reader of a file and its compression, by its name."""
    stem, packed = name.lower(), None
    for ending in COMPRESSED:
        if stem.endswith(ending):
            stem, packed = stem[: -len(ending)], {".gz": "gzip", ".zst": "zstd"}[ending]
    for endings, reader in ((PARQUET, read_parquet), (ARROW, read_arrow), (LINES, read_lines)):
        if stem.endswith(endings):
            return reader, packed
    return None, None


class ZstdFile:
    """Reads a compressed file to its end. pyarrow cannot read windows of more than 128 MiB."""

    def __init__(self, file):
        self.pieces = self.decompress(need("zstandard", "a .zst file"), file)

    @staticmethod
    def decompress(zstandard, file):
        decompressor, frame = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW), None
        while stored := file.read(ZSTD_BLOCK):
            while stored:
                frame = frame or decompressor.decompressobj()
                if piece := frame.decompress(stored):
                    yield piece
                stored, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        if frame:
            raise Failure("the file ends inside a zstd frame: it is truncated")

    def read(self, _):
        return next(self.pieces, b"")


def open_packed(file, packed):
    if packed is None:
        return file
    if packed == "zstd":
        return ZstdFile(file)
    pyarrow = need("pyarrow", "a compressed file")
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), packed)


def expand_sources(sources):
    """The sources with {a,b} and {1..9} expanded as bash does it."""
    words = []
    for source in sources:
        if "{" not in source and "}" not in source:
            words.append(source)
            continue
        try:
            words += need("braceexpand", "a source with braces").braceexpand(source)
        except ValueError:
            raise Failure(f"{source}: a brace has no partner. Put \\ before each brace that belongs to the name") from None
    return words


def is_hidden(path, source):
    """
    Whether a name of the path begins with _ or . while none in the source asks for it. A folder such as _lang=en is a
    partition of a table, which Spark reads too.
    """
    asked = [part for part in source.split("/") if part.startswith(("_", "."))]
    return any(name.startswith(".") or (name.startswith("_") and "=" not in name)
               for name in path.split("/") if not any(fnmatch.fnmatchcase(name, part) for part in asked))


def open_store(fsspec, source):
    """The file system of a source, and its path there."""
    try:
        return fsspec.core.url_to_fs(source)
    except ImportError as e:  # fsspec raises it from that of the module
        module = getattr(e.__cause__ or e, "name", None)
        raise missing_package(source, module, e) if module else Failure(f"{source}: {e}") from None
    except ValueError as e:
        if "Protocol not known" not in str(e):
            raise
        raise Failure(f"{source}: unknown scheme. Use gs://, s3://, hf://, https:// or another that this prints: "
                      f"python -c 'import fsspec; print(*fsspec.available_protocols())'") from None


def find_files(fsspec, source):
    """The file system of a source, and the paths that it stands for there."""
    fs, path = open_store(fsspec, source)
    if any(c in path for c in "*?["):
        paths = fs.glob(path)
    elif fs.isdir(path):
        paths = fs.find(path)
    else:
        paths = [path] if fs.exists(path) else []
    return fs, path, [p for p in paths if kind(p)[0] or p == path]


def report_folder(fs, path):
    """What is in the last folder that exists on the way to a local path, and the name that is most likely meant."""
    if "file" not in fs.protocol:  # a listing may be long, and cost money
        return ""
    name = ""
    while path and not os.path.isdir(path):
        path, _, name = path.rpartition("/")
    try:
        names = sorted(n for n in os.listdir(path or "/") if not n.startswith("."))
    except OSError:
        return ""
    near = difflib.get_close_matches(name, names, 1)
    return (f" in {path or '/'}" + (f" (did you mean {near[0]}?)" if near else "")
            + (f"; it has {', '.join(names[:FILES_SHOWN])}{', ...' * (len(names) > FILES_SHOWN)}" if names else "; it is empty"))


def list_files(sources):
    """(file system, path, name) of every file that the sources stand for, in the one order, and the names left out."""
    fsspec = need("fsspec", "reading files")
    found, hidden = {}, set()
    for source in sources:
        try:
            fs, path, paths = find_files(fsspec, source)
        except Failure:
            raise
        except Exception as e:  # a file system raises what its libraries raise
            raise Failure(f"{source}: {type(e).__name__}: {e}") from None
        visible = [p for p in paths if not is_hidden(p, path)]
        hidden.update(fs.unstrip_protocol(p) for p in set(paths).difference(visible))
        if not visible:
            raise NoFile(f"{source}: no file matches" + (f"; {report_hidden(hidden)}" if paths else report_folder(fs, path)))
        for p in visible:
            found[fs.unstrip_protocol(p)] = (fs, p)
    return [(fs, p, name) for name, (fs, p) in sorted(found.items())], hidden.difference(found)


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")


def shown(text: str, keep: str = "") -> str:
    """`text` with what would command or mislead a terminal escaped as the program riffle does; lines and tabs too, unless kept."""
    def escape(match):
        c = ord(match[0])
        if match[0] in keep:
            return match[0]
        if 0x80 <= c < 0xdc80 or c > 0xdcff:
            return f"\\u{c:04x}"
        return {10: r"\n", 9: r"\t", 13: r"\r"}.get(c, f"\\x{c & 0xff:02x}")  # U+DC80 to U+DCFF: a byte that is not UTF-8
    return CONTROLS.sub(escape, text)


def report_hidden(names):
    return (f"left out {len(names)} file{'s' if len(names) > 1 else ''}, such as {min(names)}, because a name that begins "
            f"with _ or . usually belongs to an unfinished file. riffle 0.1 read such files. To read them, give their "
            f"names, or a pattern such as _*.jsonl")


DAMAGED = ("cannot be read as a {} file: {}. If it is truncated, copy it again. If it has another format, rename it so that "
           "its ending says which")


def print_file(fs, path, name, columns, printer):
    reader, packed = kind(path)
    if reader is None:
        raise Failure(f"{name}: its name does not say what it is; known are "
                      f"{' '.join(PARQUET + ARROW + LINES)}, also with {' '.join(COMPRESSED)}")
    try:
        if "file" in fs.protocol and not os.path.isfile(path):
            raise Failure("is not a regular file, so that it could not be read again after a crash")
        with fs.open(path, "rb") as file:
            reader(open_packed(file, packed), columns, printer)
    except Failure as e:
        raise Failure(f"{name}: {e}") from None
    except Exception as e:  # of Arrow, of zstd, or of the file system
        if isinstance(e, OSError) and e.errno is not None:  # Arrow's have no number
            raise Failure(f"{name}: {e}") from None
        raise Failure(f"{name}: " + DAMAGED.format(os.path.splitext(path)[1], str(e).strip().rstrip("."))) from None


def print_sources(a, printer):
    done = []
    while not printer.full():
        names, hidden = list_files(a.source)
        if hidden and not done:
            print(f"riffle-source: {shown(report_hidden(hidden))}", file=sys.stderr)
        behind = [n for _, _, n in names if done and n <= done[-1] and n not in done]
        if behind:
            raise Failure(f"{behind[0]}: came after {done[-1]} was read, and sorts before it: rows would change their "
                          f"numbers. Name new files so that they sort last")
        for fs, path, name in names:
            if name in done or printer.full():
                continue
            print_file(fs, path, name, a.columns, printer)
            done.append(name)
        printer.out.flush()
        if not a.watch:
            return
        time.sleep(a.watch)


# ---- Hugging Face datasets


def load(datasets, a):
    """The rows of one split; a folder of save_to_disk() holds a dataset, or one for each split."""
    if any(os.path.exists(os.path.join(a.dataset, name)) for name in ("dataset_dict.json", "state.json")):
        if a.name or a.revision or a.source:
            raise Failure(f"{a.dataset}: save_to_disk() wrote this folder: it has no --name, --revision or data files")
        rows = datasets.load_from_disk(a.dataset)
        if not isinstance(rows, datasets.DatasetDict):
            return rows
        if a.split not in rows:
            raise Failure(f"{a.dataset}: no split {a.split}: there are {', '.join(rows)}")
        return rows[a.split]
    return datasets.load_dataset(a.dataset, a.name, split=a.split, revision=a.revision, streaming=not a.download,
                                 data_files=a.source or None)


def print_dataset(a, printer):
    datasets = need("datasets", "--dataset")
    datasets.disable_progress_bars()
    try:
        rows = load(datasets, a)
        if a.columns:
            check_columns(rows.column_names and a.columns, rows.column_names, f"{a.dataset}: no column")
            rows = rows.select_columns(a.columns)
        if hasattr(rows, "select"):
            rows = rows.select(range(printer.leave_out(len(rows)), len(rows)))
        elif printer.skip:
            rows = rows.skip(printer.skip)
            printer.skip = 0
        for row in rows:
            printer.put(row)
            if printer.full():
                return
    except Failure:
        raise
    except Exception as e:  # the library raises what its file systems raise
        raise Failure(f"{a.dataset}: {type(e).__name__}: {e}") from None


# ---- chats


class Chat:
    """Rows of messages to records of tokens: {"tokens": [...], "no_loss": [[first, end], ...], "keep": {...}}."""

    def __init__(self, a):
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # it speaks as it is imported
        transformers = need("transformers", "--chat")
        need("jinja2", "--chat")
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(a.chat, revision=a.chat_revision)
        except (OSError, ValueError) as e:
            raise Failure(f"--chat {a.chat}: {e}") from None
        try:
            self.template = open(a.chat_template, encoding="utf-8").read() if a.chat_template else None
        except (OSError, UnicodeDecodeError) as e:
            raise Failure(f"--chat-template {a.chat_template}: {e}") from None
        text = self.template or self.tokenizer.chat_template
        if not text:
            raise Failure(f"--chat {a.chat}: the tokenizer has no chat template: give one by --chat-template FILE")
        if a.loss == "assistant" and not a.prompt_only and not re.search(r"{%[-+]?\s*generation\b", str(text)):
            raise Failure("the chat template does not mark what the assistant says with {% generation %} and "
                          "{% endgeneration %}, so that no token would be a target: give one that does by "
                          "--chat-template FILE, or --loss all")
        self.a = a

    def __call__(self, row):
        a = self.a
        check_columns([a.messages, *([a.tools] if a.tools else []), *a.keep], row)
        messages = row[a.messages]
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise Failure(f"column {a.messages} is not a list of messages")
        # Parquet and Arrow give every message the keys of all: those that it does not have are null.
        messages = [{k: v for k, v in plain(m, "replace").items() if v is not None} for m in messages]
        assistant = a.loss == "assistant" and not a.prompt_only
        try:
            made = self.tokenizer.apply_chat_template(
                messages, tools=plain(row[a.tools], "replace") if a.tools else None, chat_template=self.template, tokenize=True,
                return_dict=True, return_assistant_tokens_mask=assistant, add_generation_prompt=a.prompt_only)
        except Exception as e:  # a template may raise what it likes
            raise Failure(f"the chat template: {type(e).__name__}: {e}") from None
        record = {"tokens": list(made["input_ids"])}
        if a.prompt_only:
            record.update(no_loss=[[0, len(record["tokens"])]], eos=False)
        elif assistant:
            record["no_loss"] = ranges(made["assistant_masks"])
        if a.keep:
            record["keep"] = {column: row[column] for column in a.keep}
        return record


def ranges(mask):
    """[first, end) of each stretch of zeros."""
    found, first = [], None
    for i, one in enumerate([*mask, 1]):
        if one and first is not None:
            found.append([first, i])
            first = None
        elif not one and first is None:
            first = i
    return found


# ---- the command line


def resume():
    text = os.environ.get("RIFFLE_RESUME", "0")
    if not text.isascii() or not text.isdigit():
        raise Failure(f"RIFFLE_RESUME is {text!r}; it must be a number of rows")
    return int(text)


class Parser(argparse.ArgumentParser):
    """Its errors are one line, without the usage."""

    def error(self, message):
        self.exit(2, f"riffle-source: {shown(message)}; see riffle-source --help\n")


def arguments(words):
    p = Parser(prog="riffle-source", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("source", nargs="*", metavar="FILE", help="a file, folder or glob, with brace ranges; with --dataset its data files")
    p.add_argument("--columns", metavar="A,B", help="only these columns, in this order; without it all")
    p.add_argument("--limit", type=int, metavar="N", help="at most N rows, for a first look")
    p.add_argument("--watch", type=float, metavar="S", help="continues with new files; looks every S seconds")
    p.add_argument("--dataset", metavar="ID", help="a dataset by its id on the Hugging Face hub, or a local folder")
    p.add_argument("--name", metavar="NAME", help="configuration of the dataset")
    p.add_argument("--split", default="train", help="of the dataset (train)")
    p.add_argument("--revision", metavar="REV", help="commit of the dataset: without it a later run can read other data")
    p.add_argument("--download", action="store_true", help="takes the dataset into the cache, then reads it there")
    chat = p.add_argument_group("chats", "rows of messages become tokens, for a domain with `tokens: jsonl`")
    chat.add_argument("--chat", metavar="TOKENIZER", help="a tokenizer of transformers: a folder, or an id on the hub")
    chat.add_argument("--chat-revision", metavar="REV", help="commit of the tokenizer")
    chat.add_argument("--chat-template", metavar="FILE", help="a Jinja template (default: the tokenizer's)")
    chat.add_argument("--messages", metavar="COLUMN", default="messages", help="of the messages (default: messages)")
    chat.add_argument("--tools", metavar="COLUMN", help="of the tools that the template describes")
    chat.add_argument("--keep", metavar="A,B", default="", help="columns that go to the trainer beside the tokens")
    chat.add_argument("--loss", choices=["assistant", "all"], default="assistant",
                      help="what is a target (default: assistant)")
    chat.add_argument("--prompt-only", action="store_true", help="prompts: no targets, no eos")
    a, unknown = p.parse_known_args(words)
    if unknown:
        if not unknown[0].startswith("-"):
            p.error(f"{unknown[0]}: give every FILE before the first option")
        option = unknown[0].split("=")[0]
        near = difflib.get_close_matches(option, p._option_string_actions, 1)
        p.error(f"unknown option {option}" + (f" (did you mean {near[0]}?)" if near else ""))
    a.keep = [c.strip() for c in a.keep.split(",")] if a.keep else []
    if not a.chat and (a.chat_template or a.chat_revision or a.tools or a.keep or a.prompt_only):
        p.error("--chat-template, --chat-revision, --tools, --keep and --prompt-only need --chat")
    if a.chat and a.columns:
        p.error("--columns cannot be given with --chat: --messages, --tools and --keep choose the columns")
    if not a.source and not a.dataset:
        p.error("give FILE, or --dataset ID")
    if a.watch is not None and (a.dataset or a.watch <= 0):
        p.error("--watch needs files, and a number above 0")
    if a.limit is not None and a.limit < 0:
        p.error("--limit: must be 0 or more")
    if not a.dataset and (a.name or a.revision or a.download):
        p.error("--name, --revision and --download need --dataset")
    try:
        a.source = expand_sources(a.source)
    except Failure as e:
        p.error(str(e))
    a.columns = [c.strip() for c in a.columns.split(",")] if a.columns else None
    if a.columns and (not all(a.columns) or len(set(a.columns)) < len(a.columns)):
        p.error("--columns: names with a comma between them, each once")
    return a


def main(words=None):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever reads may end first
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if the parent process has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    a = arguments(words)
    out = io.BufferedWriter(Output(1, "w", closefd=False), 1 << 20)
    try:
        printer = Printer(out, resume(), a.limit, Chat(a) if a.chat else None)
        (print_dataset if a.dataset else print_sources)(a, printer)
        out.flush()
        if printer.skip:
            raise Failure(f"RIFFLE_RESUME asks for more rows than there are: {printer.skip} fewer")
    except Failure as e:
        out.flush()
        print(f"riffle-source: {shown(str(e).strip())}", file=sys.stderr)
        return e.code
    return 0


def run():
    """The program `riffle-source`."""
    code = main()
    sys.stderr.flush()
    os._exit(code)  # pyarrow's threads may still be at work, and end a Python that shuts down by SIGABRT


if __name__ == "__main__":
    run()
