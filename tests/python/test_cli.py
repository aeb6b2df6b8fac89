"""The command line without a broker: help, mistakes, exit codes, the check of a configuration."""

import base64
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import socketserver
import struct
import subprocess
import threading

import pytest

from commands import commands_of, options_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMANDS = ["config", "topics", "acls", "produce", "import", "export", "mix", "read", "weights", "skip", "requests", "runs", "reweight", "status",
            "serve", "rejects", "plan", "inspect", "replay", "retain", "repair", "tokenize", "completion"]
MIXING = ["topics", "produce", "mix", "read", "status", "plan"]  # commands that load a configuration

GOOD = """\
corpus: demo
tokenizer: {file: v.tiktoken, pattern: gpt2}
sequence_length: 128
domains:
  code: {train: [a.jsonl]}
  web: {exec: cat b}
mix:
  name: pretrain
  global_batch: 16
  lanes: 4
  weights: {code: 0.3, web: 0.7}
"""


@pytest.fixture
def fails(riffle):
    """fails(code, sentence, *words): exit code, nothing on stdout, that one line on stderr."""
    def run(code, sentence, *words, **more):
        done = riffle(*words, check=False, timeout=30, **more)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", sentence + "\n")
    return run


# --- help


def test_help_lists_every_command_on_stdout(riffle):
    for word in ("--help", "-h"):
        done = riffle(word)
        assert done.stdout == riffle("help").stdout and done.stderr == ""
    assert commands_of(riffle) == COMMANDS


def test_no_command_is_a_usage_error_with_the_help_on_stderr(riffle):
    done = riffle(check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", riffle("--help").stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_usage_options_and_an_example_on_stdout(riffle, command):
    done = riffle(command, "--help")
    assert done.stderr == ""
    text = done.stdout
    assert text.startswith(f"usage: riffle {command} ")
    assert "\noptions:\n" in text
    assert f"\nexample:\n  riffle {command}" in text
    assert "  -h, --help " in text
    example = text.split("\nexample:\n")[1]
    ours = re.sub(r"\|.*", "", example)  # behind a pipe stands another program
    assert set(re.findall(r"--[\w-]+", ours)) <= set(options_of(text))
    # Examples can be long command lines; all else fits a terminal.
    assert max(len(line) for line in text.split("\nexample:\n")[0].splitlines()) <= 100


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_in_the_usage_line_is_in_the_table(riffle, command):
    text = riffle(command, "--help").stdout
    known = options_of(text)
    assert len(known) == len(set(known))
    assert set(re.findall(r"--[\w-]+", text.splitlines()[0])) <= set(known)


def test_help_wins_over_what_is_wrong_beside_it(riffle):
    assert riffle("read", "--nonsense", "--help").stdout == riffle("read", "-h").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_with_a_command_is_the_help_of_that_command(riffle, command):
    assert riffle("help", command).stdout == riffle(command, "--help").stdout


def test_help_as_a_command(riffle, fails):
    assert riffle("help").stdout == riffle("--help").stdout
    fails(2, "riffle: unknown command mxi (did you mean mix?); see riffle --help", "help", "mxi")
    fails(2, "riffle: unexpected argument: mix (usage: riffle help [--man] [COMMAND])", "help", "read", "mix")


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_version_names_librdkafka_and_its_features(riffle, word):
    lines = riffle(word).stdout.splitlines()
    assert re.fullmatch(r"riffle \d+\.\d+\.\d+", lines[0])
    assert re.fullmatch(r"librdkafka \d+\.\d+\.\d+, builtin\.features \S*gzip\S*", lines[1])
    assert len(lines) == 2


def test_version_with_verbose_has_what_a_report_needs(riffle, fails):
    env = {"RIFFLE_BOOTSTRAP": "", "RIFFLE_CONFIG": ""}
    lines = riffle("--version", "--verbose", env=env).stdout.splitlines()
    assert lines[:2] == riffle("--version").stdout.splitlines()
    assert re.fullmatch(r"built from (commit [0-9a-f]{12}( with changes)?|an unknown commit) by .+, flags .*", lines[2])
    assert re.fullmatch(r"built with librdkafka \d+\.\d+\.\d+ \((system|bundled)\)", lines[3])
    for library in ("avro-c", "libyaml", "zstd", "zlib", "jansson", "xxHash", "libmicrohttpd"):
        assert re.search(rf"[ ,]{library} \d", lines[4])
    assert re.fullmatch("features: AVX2 (not )?used", lines[5])
    assert lines[6:] == ["broker: none is named (-c FILE or RIFFLE_BOOTSTRAP)"]
    fails(2, "riffle: unknown option --everything", "--version", "--everything")


def test_version_with_verbose_says_why_a_broker_does_not_answer(riffle):
    done = riffle("--version", "-v", "-X", "bootstrap.servers=127.0.0.1:1", "-X", "reconnect.backoff.ms=50", check=False)
    assert done.returncode == 1
    assert "features: " in done.stdout and "riffle: no broker answers at 127.0.0.1:1" in done.stderr


# --- mistakes on the command line


@pytest.mark.parametrize("command, word, hint", [
    ("status", "cod", "did you mean domain code? `riffle status -c {}` is about all domains; "),
    ("status", "pretrian", "did you mean --mix pretrain? "),
    ("read", "weeb", "did you mean --domain web? "),
    ("retain", "3", "did you mean --from-step 3? "),
    ("replay", "3", ""),
    ("repair", "zebra", ""),
])
def test_a_word_too_many_is_taken_for_a_name(riffle, write_config, command, word, hint):
    config = write_config(GOOD)
    done = riffle(command, "-c", config, word, check=False)
    assert done.returncode == 2
    assert f"unexpected argument: {word} ({hint.format(config)}usage: riffle {command} -c" in done.stderr


def test_without_a_configuration_a_word_too_many_is_taken_for_a_mix(riffle):
    done = riffle("replay", "zebra", check=False, env={"RIFFLE_CONFIG": ""})
    assert done.returncode == 2
    assert "unexpected argument: zebra (did you mean --mix zebra? usage: riffle replay -c FILE" in done.stderr


@pytest.mark.parametrize("words, most", [
    (["skip", "code", "1..2", "code", "3..4"], 2),
    (["export", "web", "code", "--format", "npy", "--out", "x"], 1),
])
def test_a_word_more_than_the_command_takes_is_no_guess(riffle, write_config, words, most):
    done = riffle(*words, "-c", write_config(GOOD), check=False)
    assert done.returncode == 2
    assert f"unexpected argument: code (riffle {words[0]} takes {most} at most; usage: riffle {words[0]} -c" in done.stderr


@pytest.mark.parametrize("command, word", [("export", "DOMAIN"), ("acls", "COMMAND"), ("completion", "bash|zsh|fish")])
def test_an_argument_that_is_missing_is_named(riffle, command, word):
    done = riffle(command, check=False)
    assert done.returncode == 2 and f"riffle {command}: an argument is missing: {word} (usage: " in done.stderr


@pytest.mark.parametrize("command", [["export", "web", "--format", "npy"], ["reweight", "--method", "odm"]])
def test_a_result_in_a_missing_folder_is_refused_before_any_work(riffle, write_config, tmp_path, command):
    out = tmp_path / "no" / "such" / "web"
    words = [*command, "-c", write_config(GOOD), "--out", out]
    done = riffle(*words, check=False)  # neither tokenizer nor broker is there
    assert done.returncode == 2
    assert f"--out {out}: folder {out.parent} does not exist: `mkdir -p {out.parent}` makes it" in done.stderr
    out.parent.mkdir(parents=True)
    assert "does not exist: `mkdir" not in riffle(*words, check=False).stderr


@pytest.mark.parametrize("word", ["--lanes", "--world-size"])
def test_an_option_of_other_loaders_suggests_ours(fails, word):
    fails(2, f"riffle read: unknown option {word} (did you mean --world?); see riffle read --help", "read", word, "2")


@pytest.mark.parametrize("word, sentence", [
    ("reed", "riffle: unknown command reed (did you mean read?); see riffle --help"),
    ("prodcue", "riffle: unknown command prodcue (did you mean produce?); see riffle --help"),
    ("xyzzy", "riffle: unknown command xyzzy; see riffle --help"),
    ("", "riffle: unknown command ; see riffle --help"),
    ("version", "riffle: unknown command version (did you mean --version?); see riffle --help"),
    ("--vers", "riffle: unknown option --vers (did you mean --version?); see riffle --help"),
    ("--status", "riffle: unknown option --status (did you mean status?); see riffle --help"),
    ("hlep", "riffle: unknown command hlep (did you mean help?); see riffle --help"),
    ("--xyzzy", "riffle: unknown option --xyzzy; see riffle --help"),
])
def test_an_unknown_command_suggests_the_nearest(fails, word, sentence):
    fails(2, sentence, word)


def test_options_in_front_of_the_command_are_told_where_they_belong(fails):
    fails(2, "riffle: unknown option -c: options follow the command: riffle status -c ...", "-c", "run.yml", "status")
    fails(2, "riffle: unknown option -c; see riffle --help", "-c", "run.yml")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_option_is_one_sentence_and_exit_2(fails, command):
    see = f"; see riffle {command} --help"
    fails(2, f"riffle {command}: unknown option --hlep (did you mean --help?){see}", command, "--hlep")
    fails(2, f"riffle {command}: unknown option -Z{see}", command, "-Z")


@pytest.mark.parametrize("command", MIXING)
def test_wrong_values_of_common_options(fails, command):
    see = f"; see riffle {command} --help"
    fails(2, f"riffle {command}: --config: needs a value: FILE{see}", command, "-c")
    fails(2, f"riffle {command}: -X: not a property: it has no '=' (NAME=VALUE; what was given is not shown: it may be a "
             f"secret){see}", command, "-X", "x", "-c", "y")
    fails(2, f"riffle {command}: --quiet: takes no value, but has one: --quiet=1{see}", command, "--quiet=1")


@pytest.mark.parametrize("command", [c for c in MIXING if c != "read"])
def test_a_command_without_its_configuration_says_so(fails, command):
    fails(2, f"riffle {command}: no configuration is named: add -c FILE, or set RIFFLE_CONFIG; see riffle {command} --help", command)


def test_config_wants_one_of_its_two_options(fails):
    for words in ((), ("--keys", "--check")):
        fails(2, "riffle config: give one of --keys, --check and --init; see riffle config --help", "config", *words)
    fails(2, "riffle config: --no-inputs: needs --check; see riffle config --help", "config", "--keys", "--no-inputs")


def test_the_page_of_metrics_is_the_table_of_the_program(riffle):
    assert riffle("serve", "--metrics-list").stdout == (ROOT / "docs/METRICS.md").read_text(), \
        "riffle serve --metrics-list > docs/METRICS.md"


# --- the form of the log


@pytest.mark.parametrize("command", COMMANDS)
def test_a_failure_is_an_object_where_the_log_is_json(riffle, command):
    """Wherever --log stands, and whatever else is wrong."""
    sentence = f"unknown option --hlep (did you mean --help?); see riffle {command} --help"
    for words, env in ((("--hlep", "--log", "json"), {}), (("--log=json", "--hlep"), {}), (("--hlep",), {"RIFFLE_LOG": "json"})):
        done = riffle(command, *words, check=False, env=env)
        assert (done.returncode, done.stdout) == (2, "")
        line = json.loads(done.stderr)
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
        assert line == {"level": "error", "module": command, "message": sentence}


def test_the_option_wins_over_the_environment_and_both_are_checked(riffle, fails):
    done = riffle("mix", "--log", "logfmt", check=False, env={"RIFFLE_LOG": "json", "RIFFLE_CONFIG": ""})
    assert done.stderr.startswith("riffle mix: no configuration")
    done = riffle("mix", "--log", "json", check=False, env={"RIFFLE_LOG": "xml", "RIFFLE_CONFIG": ""})
    assert json.loads(done.stderr)["message"].startswith("no configuration")
    see = "; see riffle mix --help"
    fails(2, f"riffle mix: --log: unknown: xml (one of logfmt, json){see}", "mix", "--log", "xml")
    fails(2, f"riffle mix: RIFFLE_LOG: --log: unknown: xml (one of logfmt, json){see}", "mix", env={"RIFFLE_LOG": "xml"})
    assert riffle("mix", "--help", env={"RIFFLE_LOG": "xml"}).stdout.startswith("usage: riffle mix")


# --- the configuration


@pytest.mark.parametrize("command", MIXING)
def test_a_wrong_key_is_one_sentence_and_exit_2_for_every_command(fails, write_config, command):
    path = write_config(GOOD.replace("lanes:", "lanse:"))
    fails(2, f"riffle {command}: {path}:10: mix.lanse: unknown key; did you mean lanes?", command, "-c", path)


@pytest.mark.parametrize("command", MIXING)
def test_a_key_set_on_the_command_line_is_checked_in_every_command(fails, write_config, command):
    path = write_config(GOOD)
    fails(2, f"riffle {command}: -s mix.lanes: out of range: 0 (1 to 4096)", command, "-c", path, "-s", "mix.lanes=0")
    fails(2, f"riffle {command}: -s mix.lanse: unknown key; did you mean lanes?", command, "-s", "mix.lanse=2",
          env={"RIFFLE_CONFIG": str(path)})


def test_a_key_set_without_a_configuration_is_refused(fails):
    fails(2, "riffle read: -s mix.lanes=2: needs the configuration: add -c FILE; see riffle read --help",
          "read", "--mix", "m", "--rank", "0", "--world", "1", "-s", "mix.lanes=2")


@pytest.fixture(scope="session")
def small_tokenizer(tmp_path_factory):
    """Every byte, and nothing else."""
    path = tmp_path_factory.mktemp("tokenizer") / "v.tiktoken"
    path.write_text("".join(f"{base64.b64encode(bytes([i])).decode()} {i}\n" for i in range(256)))
    return path


@pytest.fixture
def with_data(tmp_path, small_tokenizer):
    """with_data(domain) -> run.yml with a tokenizer, two files of records and a domain `code` as YAML."""
    def make(domain):
        (tmp_path / "a.jsonl").write_text('{"id": 1, "content": "x", "meta": {"kind": "k"}}\n{"id": 2, "content": "y"}\n')
        (tmp_path / "b.txt").write_text("a whole file")
        (tmp_path / "bad.jsonl").write_text("not JSON\n")
        for name in ("cut.bin", "cut.npy"):
            (tmp_path / name).write_bytes(b"12345")
        (tmp_path / "two.npy").write_bytes(b"1234")
        (tmp_path / "nested.jsonl").write_text('{"tokens": [[1, 2, 3]]}\n')
        (tmp_path / "labels.jsonl").write_text('{"tokens": [1, 2, 3], "labels": [-100, 2, 3]}\n')
        # Two documents of three tokens, in Megatron's form; of the last one a token is missing.
        (tmp_path / "short.bin").write_bytes(bytes(10))
        (tmp_path / "short.idx").write_bytes(b"MMIDIDX\0\0" + struct.pack("<QBQQ2i2q3q", 1, 8, 2, 3, 3, 3, 0, 6, 0, 1, 2))
        (tmp_path / "empty.jsonl").touch()
        (tmp_path / "d.jsonl").write_text('{"content": "z"}\n')
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "link.jsonl").unlink(missing_ok=True)
        (tmp_path / "link.jsonl").symlink_to("a.jsonl")
        (tmp_path / "mixed.jsonl").write_text('not JSON\n' + '{"text": "x"}\n' * 10)
        (tmp_path / "t.csv").write_text('text,id\nx,"1"\n')
        (tmp_path / "wide.json").write_text('{"text": "x"}\n', encoding="utf-16")
        (tmp_path / "cut.z").write_bytes(gzip.compress(b'{"text": "x"}\n' * 10 + base64.b64encode(os.urandom(2000)))[:999])
        path = tmp_path / "run.yml"
        path.write_text(f"corpus: demo\ntokenizer: {{file: {small_tokenizer}, pattern: gpt2, eos: a}}\nsequence_length: 8\n"
                        f"domains:\n  code: {domain}\n")
        return path
    return make


@pytest.mark.parametrize("domain, sentence", [
    ("{train: '*.gz'}", "domains.code.train: pattern *.gz: matches no file in {0}; it has "),
    ("{train: dat/a.jsonl}", "domains.code.train: pattern dat/a.jsonl: folder dat does not exist in {0} (did you mean data?); its folders are "),
    ("{train: a.jsonl, text: content, valid: c.jsonl}", "domains.code.valid: pattern c.jsonl: matches no file in {0}"),
    ("{train: a.jsonl}", "domains.code.text: no field `text` with a text in the first 2 records of a.jsonl; "
                         "the first has: id, content, meta"),
    ("{train: a.jsonl, text: id}", "domains.code.text: field `id` holds a number, not a text, in the first 2 records of a.jsonl; "
                                   "the first has: id, content, meta"),
    ("{train: a.jsonl, text: meta}", "domains.code.text: field `meta` holds an object, not a text, in the first 2 records of a.jsonl; "
                                     "the first has: meta.kind"),
    ("{train: a.jsonl, text: meta.kin}", "domains.code.text: no field `meta.kin` with a text in the first 2 records of a.jsonl; "
                                         "the first has: meta.kind"),
    ("{train: a.jsonl, text: content, where: {field: kind, equals: x}}",
     "domains.code.where.field: no field `kind` in the first 2 records of a.jsonl; the first has: id, content, meta"),
    ("{train: a.jsonl, where: {field: id, equals: 2}}",
     "domains.code.text: no field `text` with a text in the first 2 records of a.jsonl; the first has: id, content, meta"),
    ("{train: a.jsonl, packing: none, prompt: content, response: answer}",
     "domains.code.response: no field `answer` with a text in the first 2 records of a.jsonl; the first has: id, content, meta"),
    ("{train: a.jsonl, packing: none, prompt: question}",
     "domains.code.prompt: no field `question` with a text in the first 2 records of a.jsonl; the first has: id, content, meta"),
    ("{train: cut.bin, tokens: megatron}", "domains.code.train: the index of cut.bin: cut.idx: cannot be opened"),
    ("{train: two.npy, tokens: npy, token_bytes: 2, valid: none.npy}", "domains.code.valid: pattern none.npy: matches no file in {0}"),
    ("{train: cut.npy, tokens: npy}", "domains.code.train: cut.npy: nothing says how wide its tokens are"),
    ("{train: a.jsonl, tokens: jsonl}", "domains.code.tokens: no field `tokens` with a list of ids in the first 2 records of a.jsonl; "
                                        "the first has: id, content, meta"),
    ("{train: nested.jsonl, tokens: jsonl}", "domains.code.tokens: no field `tokens` with a list of ids in the first 1 record of "
                                             "nested.jsonl; the first has: tokens"),
    ("{train: labels.jsonl, tokens: jsonl}", "domains.code.train: none of the first 1 records of labels.jsonl can be read; "
                                             "the first: unknown field `labels`: a record of tokens has tokens, no_loss, keep and eos"),
    ("{train: short.bin, tokens: megatron}", "domains.code.train: short.idx: its sequences have 6 tokens, and short.bin has 5 of "
                                             "2 bytes: the index is not of this file; make both again"),
    ("{train: empty.jsonl, text: content}", "domains.code.train: its input has no record: file empty.jsonl is empty"),
    ("{train: [a.jsonl, b.txt], valid: ./a.jsonl, text: content}",
     "domains.code.valid: a.jsonl is a file of train, too: its documents would be trained on and held out. Take it out of one"),
    ("{train: 'a.*', valid: link.jsonl, text: content}", "domains.code.valid: link.jsonl is a file of train, too: "),
    ("{train: [a.jsonl, link.jsonl], text: content}",
     "domains.code.train: a.jsonl and link.jsonl are one file under two names (a link): its documents would be read twice"),
    ("{train: bad.jsonl}", "domains.code.train: none of the first 1 records of bad.jsonl can be read; the first: "
                           "invalid JSON at byte 1: no such value; a string wants quotes"),
    ("{train: wide.json}", "domains.code.train: wide.json cannot be read: the file is UTF-16: convert it: iconv -f UTF-16 "),
    ("{train: [d.jsonl, wide.json], text: content}", "domains.code.train: wide.json:1: the file is UTF-16: convert it: "),
    ("{train: cut.z}", "domains.code.train: cut.z:11: gzip data ends at byte 999"),
])
def test_check_finds_what_the_inputs_lack(riffle, with_data, tmp_path, domain, sentence):
    path = with_data(domain)
    done = riffle("config", "--check", "-c", path, check=False)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert done.stderr.startswith(f"riffle config: {path}:5: {sentence.format(tmp_path)}") and done.stderr.count("\n") == 1


ARRAY = "this looks like a JSON array: riffle reads one JSON object per line. Convert the file: jq -c '.[]' FILE > FILE.jsonl\n"
OBJECT = "this looks like a JSON object over several lines: riffle reads one JSON object per line. Convert the file: " \
         "jq -c . FILE > FILE.jsonl\n"


@pytest.mark.parametrize("content, advice", [
    ('[\n{"text": "a"},\n{"text": "b"},\n{"text": "c"}\n]\n', ARRAY),
    ('[{"text": "a"},\n{"text": "b"},\n{"text": "c"}]\n', ARRAY),
    ('[{"text": "a"}, {"text": "b"}]\n', ARRAY),
    ('[\n  {\n    "text": "a"\n  }\n]\n', ARRAY),
    ('{\n  "text": "a"\n}\n{\n  "text": "b"\n}\n', OBJECT),
])
def test_check_says_how_to_convert_json_that_is_laid_out_otherwise(riffle, with_data, tmp_path, content, advice):
    path = with_data("{train: other.json}")
    (tmp_path / "other.json").write_text(content)
    said = riffle("config", "--check", "-c", path, check=False).stderr
    assert said.count("\n") == 1 and said.endswith(advice)


def test_check_gives_a_command_that_converts_csv(riffle, with_data, tmp_path):
    said = riffle("config", "--check", "-c", with_data("{train: t.csv}"), check=False).stderr
    command = re.search(r"; CSV is not read. Convert the file: (python3 .*)$", said)[1]
    subprocess.run(command.replace("FILE", "t.csv"), shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "t.csv.jsonl").read_text() == '{"text": "x", "id": "1"}\n'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_check_gives_a_command_that_replaces_numbers_that_json_lacks(riffle, with_data, tmp_path, number):
    path = with_data("{train: other.json}")
    (tmp_path / "other.json").write_text(f'{{"text": "NaN", "score": {number}}}\n' * 3)
    said = riffle("config", "--check", "-c", path, check=False).stderr
    command = re.search(r"JSON has no NaN and no Infinity. Write null instead: (python3 .*)$", said)[1]
    subprocess.run(command.replace("FILE", "other.json"), shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "other.json.jsonl").read_text() == '{"text": "NaN", "score": null}\n' * 3
    riffle("config", "--check", "-c", with_data("{train: other.json.jsonl}"))


def test_check_names_the_option_that_gave_a_key(riffle, with_data):
    path = with_data("{train: a.jsonl, text: content, where: {field: id, equals: 2}}")
    for given in ("domains.code.where.field=kind", "domains.code.where={field: kind, equals: x}"):
        done = riffle("config", "--check", "-c", path, "-s", given, check=False)
        assert done.stderr.startswith("riffle config: -s domains.code.where.field: no field `kind` in the first 2 records"), done.stderr


@pytest.mark.parametrize("one, two, says", [
    ("train: a.jsonl", "train: 'a.*'", "6: domains.prose.train: a.jsonl is a file of domain code (train), too: each of its "),
    ("train: a.jsonl", "train: d.jsonl, valid: '[a].jsonl'", "6: domains.prose.valid: a.jsonl is a file of domain code (train)"),
    ("train: a.jsonl, where: {field: id, equals: x}", "train: '[ad].jsonl', where: {field: id, equals: x}",
     "6: domains.prose.train: a.jsonl is a file of domain code"),
    ("train: a.jsonl, where: {field: id, equals: x}", "train: '[a].jsonl', where: {field: id, equals: y}", None),
    ("train: b.txt, valid: a.jsonl", "train: d.jsonl, valid: '[a].jsonl'", None),
    ("train: a.jsonl", "exec: cat a.jsonl", None),
])
def test_check_finds_files_that_two_domains_take(riffle, with_data, one, two, says):
    path = with_data(f"{{{one}, text: content}}\n  prose: {{{two}, text: content}}")
    done = riffle("config", "--check", "-c", path, check=False)
    assert f"riffle config: {path}:{says}" in done.stderr if says else done.returncode == 0, done.stderr


def summary(path, domain):
    unread = "the program of domain code was not run" if "exec" in domain else "of each domain's files, only the first 100 records were read"
    return f"{path}: ok: corpus demo, 1 domain; {unread}\n"


@pytest.mark.parametrize("domain, pair", [
    ("shuffle: none, train: [d.jsonl, a.jsonl]", ("d.jsonl", "a.jsonl")),
    ("shuffle: none, train: ['[d].jsonl', '[a-c].jsonl']", ("d.jsonl", "a.jsonl")),
    ("shuffle: none, train: '{d..a..3}.jsonl'", ("d.jsonl", "a.jsonl")),
    ("shuffle: none, train: [d.jsonl, a.jsonl], file_order: listed", None),
    ("shuffle: none, train: [d.jsonl, a.jsonl], live: true", None),
    ("shuffle: none, train: [a.jsonl, d.jsonl]", None),
    ("shuffle: none, train: '[ad].jsonl'", None),
    ("train: [d.jsonl, a.jsonl]", None),
    ("exec: cat d.jsonl, shuffle: none", None),
])
def test_check_warns_of_a_list_whose_order_is_not_kept(riffle, with_data, domain, pair):
    path = with_data(f"{{{domain}, text: content}}")
    done = riffle("config", "--check", "-c", path)
    assert done.stdout == summary(path, domain)
    warning = pair and (f"warning config: CONFIG-FILE-ORDER {path}:5: domains.code.train: {pair[0]} is listed before {pair[1]}, but files are "
                        "read in the order of their names, and shuffle: none keeps that order. For the order of the list add the line "
                        "`file_order: listed` to the domain\n")
    assert done.stderr.endswith(warning) and done.stderr.count("\n") == 1 if pair else done.stderr == "", done.stderr


def left_out(stderr):
    return [line.partition(" warning ")[2] for line in stderr.splitlines() if "CONFIG-LEFT-OUT" in line]


def test_check_names_what_domains_from_does_not_read(riffle, with_data, tmp_path):
    """With the reasons that `config --init` gives; files of a token file's index are not named by themselves."""
    path = with_data("{exec: cat b}")
    for name in ("web/2024/x.jsonl", "web/a.jsonl", "web/b.ndjson", "web/c.jsonl.zstd", "web/d.parquet", "web/e.npy",
                 "web/f.ndjson", "web/tokenizer.model", "web/x.tiktoken", "prose/a.txt", ".git/x", "README"):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text('{"text": "x"}\n')
    for name in ("short.bin", "short.idx"):
        (tmp_path / name).rename(tmp_path / "data/web" / name)
    (tmp_path / "data/web/f.ndjson").write_text("")
    (tmp_path / "data/web/g.jsonl").mkdir()
    path.write_text(path.read_text() + "domains_from: data\n")
    done = riffle("config", "--check", "-c", path)
    web = f"config: CONFIG-LEFT-OUT domain=web path={tmp_path}/data/web/"
    assert left_out(done.stderr) == [
        f"{web}2024 is not read: folders in the folder of a domain are not entered",
        f"{web}b.ndjson is not read: domains_from takes .jsonl, .json and .txt, plain, .gz or .zst",
        f"{web}c.jsonl.zstd is not read: riffle does not know the ending of its name",
        f"{web}d.parquet is not read: Parquet: `exec: riffle-source FILE` reads it",
        f"{web}e.npy is not read: tokens without a header: a domain with `tokens: npy` needs `token_bytes`",
        f"{web}f.ndjson is not read: it is empty",
        f"{web}g.jsonl is not read: folders in the folder of a domain are not entered",
        f"{web}short.bin is not read: tokens: a domain with `tokens` and `train` reads it",
        f"{web}tokenizer.model is not read: riffle does not know the ending of its name",
        f"{web}x.tiktoken is not read: a tokenizer"]
    assert left_out(riffle("config", "--check", "--no-inputs", "-c", path).stderr) == []


@pytest.mark.parametrize("n, shown", [(10, 10), (11, 9)])
def test_check_names_so_many_of_what_a_domain_leaves_out(riffle, with_data, tmp_path, n, shown):
    path = with_data("{exec: cat b}")
    (tmp_path / "data/web").mkdir(parents=True)
    (tmp_path / "data/web/a.jsonl").write_text('{"text": "x"}\n')
    for i in range(n):
        (tmp_path / f"data/web/{i:02}.bz2").touch()
    path.write_text(path.read_text() + "domains_from: data\n")
    said = left_out(riffle("config", "--check", "-c", path).stderr)
    assert len(said) == min(n, 10)
    assert [f"{i:02}.bz2 " in line for i, line in enumerate(said)] == [i < shown for i in range(10)]
    assert ("domain=web: 2 more files and folders are not read" in said[-1]) == (n > 10)


@pytest.mark.parametrize("split, says", [("99,1,0", ""), ("949,50,1", ""), ("1,0,0", ""), ("99,1,1", ": split 99,1,1 is parts of 101: "
                                         "98.02 % of the documents are train, 0.99 % valid, 0.99 % test\n")])
def test_check_shows_parts_of_a_split_that_are_no_percents(riffle, with_data, split, says):
    path = with_data("{train: a.jsonl, text: content}")
    done = riffle("config", "--check", "-c", path, "-s", f"split={split}")
    assert done.stdout == f"{path}: ok: corpus demo, 1 domain; of each domain's files, only the first 100 records were read\n" + (f"{path}{says}" if says else "")


@pytest.mark.parametrize("domain", [
    "{train: a.jsonl, text: content}",
    "{train: a.jsonl, text: content, where: {field: meta.kind, equals: k}}",
    "{train: a.jsonl, where: {field: id, equals: 7}}",  # none of the first records is its own
    "{train: mixed.jsonl}",                             # the others are rejects, one by one
    "{train: b.txt}",
    "{train: '*.gz', live: true}",
    "{exec: 'touch run; cat a.jsonl'}",
])
def test_check_passes_what_can_be_published(riffle, with_data, tmp_path, domain):
    path = with_data(domain)
    assert riffle("config", "--check", "-c", path).stdout == summary(path, domain)
    assert not (tmp_path / "run").exists()


def test_check_opens_the_tokenizer(riffle, with_data, tmp_path, small_tokenizer):
    path = with_data("{train: a.jsonl, text: content}")
    for key, said in (("tokenizer.pattern=cl100", f"tokenizer {small_tokenizer}: unknown pattern \"cl100\"; the known ones are: "),
                      ("tokenizer.file=none.tiktoken", f"tokenizer {tmp_path}/none.tiktoken: cannot be opened: No such file or directory; "
                       f"tokenizer.file is relative to the folder of {path}. Take the tokenizer.json")):
        done = riffle("config", "--check", "-c", path, "-s", key, check=False)
        assert done.returncode in (1, 2)
        assert done.stderr.startswith(f"riffle config: {path}: {said}")
        assert riffle("config", "--check", "--no-inputs", "-c", path, "-s", key).stdout.startswith(f"{path}: ok")


def test_check_without_inputs_opens_nothing_and_says_ok(riffle, write_config):
    path = write_config(GOOD)
    done = riffle("config", "--check", "--no-inputs", "-c", path, env={"RIFFLE_BOOTSTRAP": "nowhere.invalid:1"})
    assert done.stdout.startswith(f"{path}: ok")
    assert done.stdout.count("\n") == 1
    assert "corpus demo, 2 domains" in done.stdout and "mix pretrain" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("change, sentence", [
    (("lanes: 4", "lanes: 0"), "10: mix.lanes: out of range: 0 (1 to 4096)"),
    (("lanes: 4", "lanes: 3"), "10: mix.lanes: 3 does not divide mix.global_batch, 16: take 2 lanes, or a global_batch of 18"),
    (("  code:", "\tcode:"), "5: a tab cannot indent in YAML: use blanks"),
    (("web: 0.7", "wbe: 0.7"), "11: mix.weights.wbe: a weight without a domain: `domains` has no wbe; did you mean web?"),
    (("{exec: cat b}", "{}"), "6: domains.web: has no source: give train (files) or exec (a program)"),
    (("lanes: 4", "lanes: 4\n  epoch_size: 0"), "11: mix.epoch_size: out of range: 0 (largest, or 1 to 1099511627776)"),
    (("lanes: 4", "lanes: 4\n  phases: [{start_step: 5}, {start_step: 5}]"),
     "11: mix.phases[1].start_step: does not increase: 5 (above 5, that of phase phase-1, line 11)"),
    (("lanes: 4", "lanes: 4\n  phases: [{start_step: 5, lr_scale: 0}]"),
     "11: mix.phases[0].lr_scale: out of range: 0 (a number above 0)"),
    (("{code: 0.3, web: 0.7}", "{code: 0.3}"),
     "11: mix.weights: a domain without a weight: `domains` has web (line 6), `mix.weights` has not: add `web: NUMBER`; 0 draws nothing of it"),
    (("{code: 0.3, web: 0.7}", "{code: 0, web: 0}"), "11: mix.weights: all are 0 (at least one above 0)"),
    (("{train: [a.jsonl]}", "{train: [a.jsonl], keep: id}"),
     "5: domains.code.keep: needs packing: none: what is kept is that of one document a sequence"),
])
def test_check_names_file_line_and_key(fails, write_config, change, sentence):
    path = write_config(GOOD.replace(*change))
    fails(2, f"riffle config: {path}:{sentence}", "config", "--check", "--no-inputs", "-c", path)


def test_a_configuration_that_cannot_be_read(fails, tmp_path):
    missing = f"riffle status: opening the configuration {tmp_path}/none.yml: No such file or directory"
    fails(2, f"{missing}; `riffle config --init DATA > {tmp_path}/none.yml` writes a first one", "status", "-c", tmp_path / "none.yml")
    (tmp_path / "nine.yml").write_text("")
    fails(2, f"{missing} (did you mean {tmp_path}/nine.yml?)", "status", "-c", tmp_path / "none.yml")
    fails(2, f"{missing} (did you mean {tmp_path}/nine.yml?) (RIFFLE_CONFIG names this file)", "status",
          env={"RIFFLE_CONFIG": f"{tmp_path}/none.yml"})
    folder = f"riffle status: reading the configuration {tmp_path}: Is a directory: name the YAML file in it"
    fails(2, folder, "status", "-c", tmp_path)
    fails(2, f"{folder} (RIFFLE_CONFIG names this folder)", "status", env={"RIFFLE_CONFIG": tmp_path})
    fails(2, "riffle status: opening the configuration -: No such file or directory: name a file: the paths in a configuration are "
          "relative to its folder", "status", "-c", "-")
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' * 2)
    fails(2, f"riffle status: {tmp_path}/a.jsonl:2: not YAML: did not find expected <document start>; the configuration is a YAML "
          "file, not the data", "status", "-c", tmp_path / "a.jsonl")


def test_check_says_where_weights_do_not_sum_to_1(riffle, write_config):
    path = write_config(GOOD.replace("web: 0.7}", "web: 0.4}\n  phases: [{name: p, start_step: 9, weights: {code: 0.6}}]"))
    done = riffle("config", "--check", "--no-inputs", "-c", path)
    assert done.stdout.splitlines()[1:] == [f"{path}: weights sum to 0.7: they are normalised"]
    path = write_config(GOOD.replace("web: 0.7}", "web: 0.7}\n  phases: [{name: p, start_step: 9, weights: {code: 0.6}}]"))
    done = riffle("config", "--check", "--no-inputs", "-c", path)
    assert done.stdout.splitlines()[1:] == [f"{path}: weights of phase p sum to 1.3: they are normalised"]


def test_weights_and_domains_come_from_beside_the_configuration(riffle, fails, write_config):
    path = pathlib.Path(write_config(GOOD.replace("{code: 0.3, web: 0.7}", "shares.json").replace("domains:", "domains_from: data\ndomains:")))
    (path.parent / "data/books").mkdir(parents=True)
    (path.parent / "data/books/a.txt").write_text("A")
    shares = path.parent / "shares.json"
    shares.write_text('{"code": 0.3, "web": 0.2, "books": 0.5}')
    done = riffle("config", "--check", "--no-inputs", "-c", path)
    assert done.stdout.count("\n") == 1 and "corpus demo, 3 domains" in done.stdout
    shares.write_text('{"code": 0.3, "web": 0.7}')
    fails(2, f"riffle config: {path}:12: mix.weights: a domain without a weight: `domains` has books (line 4), "
             "shares.json has not: add `\"books\": NUMBER`; 0 draws nothing of it", "config", "--check", "--no-inputs", "-c", path)


SECRET = "hunter2-of-nobody"


@pytest.mark.parametrize("name, said", [
    ("sasl.pasword", "librdkafka has no such property; did you mean sasl.password?"),
    ("sasl.jaas.config", "is of Kafka's Java clients; riffle uses librdkafka: set sasl.mechanism, sasl.username and sasl.password"),
    ("of.nobody", "librdkafka has no such property (its CONFIGURATION.md lists all)"),
])
def test_a_property_that_librdkafka_lacks_is_found_by_the_check_and_its_value_shown_nowhere(fails, write_config, name, said):
    path = write_config(GOOD + f"kafka:\n  {name}: {SECRET}\n")
    for words in (["config", "--check", "--no-inputs"], ["topics"], ["acls", "mix", "--principal", "User:a"]):
        fails(2, f"riffle {words[0]}: {path}:13: kafka property {name}: {said}", *words, "-c", path)
    path = write_config(GOOD)
    fails(2, f"riffle topics: -X: kafka property {name}: {said}", "topics", "-c", path, "-X", f"{name}={SECRET}")
    fails(2, f"riffle config: /dev/stdin: kafka property {name}: {said}", "config", "--check", "--no-inputs", "-c", "/dev/stdin",
          input=GOOD + f"kafka: {{{name}: {SECRET}}}\n")


@pytest.mark.parametrize("words", [["-X", SECRET], ["-X", f"={SECRET}"], ["-X", f"sasl.password:{SECRET}"],
                                   ["-X", f"{SECRET * 20}="], ["-X", f"sasl.password={SECRET}"]])
def test_a_property_that_is_none_is_not_shown(riffle, write_config, words):
    done = riffle("config", "--check", "--no-inputs", "-c", write_config(GOOD), *words, check=False)
    assert done.returncode == 2 and SECRET not in done.stdout + done.stderr


def test_a_configuration_comes_through_a_pipe(riffle):
    done = riffle("config", "--check", "--no-inputs", "-c", "/dev/stdin", input=GOOD)
    assert done.stdout.startswith("/dev/stdin: ok")


def test_keys_are_the_document(riffle):
    assert riffle("config", "--keys").stdout == (ROOT / "docs/CONFIG.md").read_text()


def keys():
    return re.findall(r"^\| `([\w.\[\]]+)` \|", (ROOT / "docs/CONFIG.md").read_text(), re.M)


def test_the_example_passes_the_check_with_and_without_its_defaults(riffle, write_config):
    path = ROOT / "config/example.yml"
    assert riffle("config", "--check", "--no-inputs", "-c", path).stdout.startswith(f"{path}: ok")
    # "  # window: 1   # comment" -> "  window: 1   # comment"
    whole, n = re.subn(r"^( *)# (?=[a-z_.]+: \S)", r"\1", path.read_text(), flags=re.M)
    assert n > 10
    path = write_config(whole)
    (path.parent / "secret.txt").write_text("secret\n")
    bare = riffle("config", "--check", "--no-inputs", "-c", path).stdout
    assert ": ok" in bare


def test_the_example_has_every_key():
    text = (ROOT / "config/example.yml").read_text()
    missing = [k for k in keys() if not re.search(rf"^\W*(.*[{{ ])?{k.split('.')[-1]}:", text, re.M)]
    assert len(keys()) > 30
    assert missing == []


def test_the_example_s_defaults_are_the_table_s(riffle):
    table = dict(re.findall(r"^\| `([\w.\[\]]+)` \| [^|]+\| `([^`]+)` \|", (ROOT / "docs/CONFIG.md").read_text(), re.M))
    defaults = {k.split(".")[-1]: v for k, v in table.items()}
    commented = re.findall(r"^ *# (\w+): (\S+)", (ROOT / "config/example.yml").read_text(), re.M)
    shown = {k: v.strip("[]") for k, v in commented if k in defaults}
    assert len(shown) > 10
    assert shown == {k: defaults[k] for k in shown}


# --- output


def test_a_full_disk_behind_stdout_is_exit_1(riffle):
    with open("/dev/full", "w") as full:
        done = subprocess.run([riffle.path, "config", "--keys"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr == "riffle config: writing to standard output: No space left on device\n"


def test_help_survives_a_closed_reader(riffle):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([riffle.path, "--help"], stdout=write, stderr=subprocess.PIPE, timeout=30)
    os.close(write)
    assert done.returncode != 0


# --- a broker that is not there

def test_a_command_says_whom_it_waits_for_before_it_gives_up(riffle, tmp_path):
    """Before its failure, and before its patience is over: the line comes first, and names seconds that are left."""
    config = tmp_path / "run.yml"
    config.write_text(GOOD)
    commands = {
        "status": [], "topics": [], "mix": [], "weights": [], "requests": [], "runs": [], "rejects": [],
        "read": [], "replay": ["--steps", "0..1"], "retain": ["--from-step", "1"], "inspect": ["1"], "plan": [], "repair": []}
    words = ["-c", config, "-X", "bootstrap.servers=127.0.0.1:1"]
    running = {c: riffle.popen(c, *words, *more) for c, more in commands.items()}
    for command, process in running.items():
        lines = process.communicate(timeout=120)[1].splitlines()
        assert process.returncode == 1, (command, lines)
        assert len(lines) >= 2 and "no broker answers at 127.0.0.1:1" in lines[-1], (command, lines)
        waits = [line for line in lines if "KAFKA-WAIT" in line]
        assert waits and re.search(r"at 127\.0\.0\.1:1 \(bootstrap\.servers\): .*; waiting [1-9]\d* s more$", waits[0]), (command, lines)


@pytest.mark.parametrize("command", [["mix"], ["produce"], ["read"], ["read", "--set", "valid", "--domain", "code"], ["weights", "code=1"],
                                     ["replay", "--steps", "0..1"]])
def test_ctrl_c_ends_a_wait_for_a_broker(riffle, tmp_path, vocab, command):
    config = tmp_path / "run.yml"
    config.write_text(GOOD.replace("v.tiktoken", f"{vocab}/r50k_base.tiktoken"))
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    process = riffle.popen(*command, "-c", config, "-X", "bootstrap.servers=127.0.0.1:1")
    first = process.stderr.readline()
    assert "KAFKA-WAIT" in first, first + process.stderr.read()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped while waiting for a broker at 127.0.0.1:1" in errors, errors
    assert "no broker answers" not in errors


# --- a broker that is none


@pytest.mark.parametrize("answer, says", [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what listens there speaks HTTP, not Kafka's protocol; is it another port?"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "what listens there speaks SSH, not Kafka's protocol; is it another port?"),
])
def test_what_listens_in_place_of_a_broker_is_named(riffle, write_config, answer, says):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(4096)
            self.request.sendall(answer)
            self.request.recv(4096)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        done = riffle("topics", "-c", write_config(GOOD), check=False, timeout=60, env={"RIFFLE_BOOTSTRAP": address})
        server.shutdown()
    assert done.returncode == 1
    assert f"no broker answers at {address} (bootstrap.servers, as RIFFLE_BOOTSTRAP says): {says}" in done.stderr
    assert "receive.message.max.bytes" not in done.stderr


def test_a_file_in_place_of_the_command_is_named(riffle, write_config):
    path = write_config(GOOD)
    done = riffle(path, "mix", check=False)
    assert (done.returncode, done.stderr) == (2, f"riffle: {path} is a file: the command comes first, as in riffle mix -c {path}\n")


def test_a_number_below_0_is_a_whole_number_that_is_out_of_range(riffle):
    done = riffle("read", "--mix", "m", "--rank", "-1", check=False)
    assert done.returncode == 2 and "--rank: out of range: -1 (0 to " in done.stderr


@pytest.mark.parametrize("address, code, says", [
    ("http://127.0.0.1:9092", 2, "RIFFLE_BOOTSTRAP: bootstrap.servers is http://127.0.0.1:9092: write HOST:PORT, for example 127.0.0.1:9092"),
    ("127.0.0.1:abc", 2, 'RIFFLE_BOOTSTRAP: bootstrap.servers is 127.0.0.1:abc: "abc" is not a port (1 to 65535)'),
])
def test_an_address_that_cannot_be_one_is_refused_without_a_long_wait(riffle, write_config, address, code, says):
    path = write_config(GOOD + "kafka: {bootstrap.servers: b1}\n")
    done = riffle("topics", "-c", path, check=False, timeout=7, env={"RIFFLE_BOOTSTRAP": address})
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


def test_a_host_that_is_not_known_is_named_at_once_and_again_after_the_wait(riffle, write_config):
    """Its DNS entry may be yet to come, so that the wait is that of any broker that does not answer."""
    done = riffle("topics", "-c", write_config(GOOD), check=False, timeout=60, env={"RIFFLE_BOOTSTRAP": "kafka.nowhere.invalid"})
    first, last = done.stderr.splitlines()
    assert "KAFKA-WAIT" in first and "host kafka.nowhere.invalid is not known; waiting " in first, done.stderr
    assert done.returncode == 1
    assert "host kafka.nowhere.invalid is not known: correct the name; no port was given, so 9092 was tried: give HOST:PORT" in last, done.stderr


def test_a_port_that_answers_nothing_is_no_broker_that_is_down(riffle, write_config):
    """Python's http.server is one: it waits for the end of a line, which Kafka's requests do not have."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = riffle("topics", "-c", write_config(GOOD), check=False, timeout=60, env={"RIFFLE_BOOTSTRAP": address})
    assert done.returncode == 1
    assert f"no broker answers at {address}" in done.stderr and "it accepts connections but does not answer as a Kafka broker" in done.stderr
    assert "is it running" not in done.stderr
    early = next(line for line in done.stderr.splitlines() if "KAFKA-WAIT" in line)
    assert re.search(rf"at {address} \(.*\): it accepts connections, but has not answered as a Kafka broker does; waiting \d+ s more$", early)


@pytest.mark.parametrize("words, source", [
    ([], "RIFFLE_BOOTSTRAP"),
    (["-s", "kafka.bootstrap.servers=h:s"], "-s"),
    (["-s", "kafka.bootstrap.servers=h:s", "-X", "bootstrap.servers=h:X"], "-X"),
])
def test_the_order_in_which_addresses_of_the_broker_win(fails, write_config, words, source):
    path = write_config(GOOD + "kafka: {bootstrap.servers: 'h:file'}\n")
    port = source[-1] if source.startswith("-") else "environment"
    fails(2, f'riffle topics: {source}: bootstrap.servers is h:{port}: "{port}" is not a port (1 to 65535)', "topics", "-c", path,
          *words, env={"RIFFLE_BOOTSTRAP": "h:environment"})


def test_an_empty_address_of_the_broker_is_refused_at_once_with_its_place(riffle, write_config):
    """librdkafka takes it, and would wait for a broker."""
    path = write_config(GOOD + 'kafka: {bootstrap.servers: " "}\n')
    done = riffle("topics", "-c", path, check=False, timeout=5, env={"RIFFLE_BOOTSTRAP": ""})
    assert done.returncode == 2 and f"{path}:" in done.stderr
    assert "bootstrap.servers is empty: give HOST:PORT of a broker" in done.stderr
