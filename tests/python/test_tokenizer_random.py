"""Random tokenizer.json files: riffle has the ids of the library. `make fuzz-tokenizer` runs many more of them."""

import os
import pathlib
import subprocess
import sys

import hf_compare
import hf_random
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = 200


@pytest.fixture(scope="module")
def program(build):
    return os.environ.get("RIFFLE_BIN", str(build / "riffle"))


def test_random_files_have_the_ids_of_tokenizers(program, tmp_path):
    accepted = 0
    for i in range(FILES):
        case = hf_random.case_of(f"fixed/{i}")
        try:
            result = hf_compare.compare(program, tmp_path, case)
        except hf_compare.Refused:
            continue
        accepted += 1
        for text in result.differing[:1]:
            assert result.ours[text] == result.theirs[text], (i, case.texts[text])
    assert accepted > 0.8 * FILES


def test_the_fuzzer_finds_a_planted_difference_and_keeps_a_small_file(program, tmp_path):
    """A wrapper turns every "a" of the texts into a "b" before riffle sees them."""
    wrong = tmp_path / "riffle"
    wrong.write_text(f"#!/bin/sh\nsed 's/a/b/g' | '{program}' \"$@\"\n")
    wrong.chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/fuzz-tokenizer", "--seed", "1", "--files", "10", "--jobs", "1"],
        capture_output=True, text=True, env={**os.environ, "RIFFLE_BIN": str(wrong), "B": str(tmp_path)})
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("fuzz-tokenizer: seed 1\n")
    passed, failed = done.stdout.splitlines()[-1].replace(",", "").split()[0:3:2]
    assert int(failed) > 0, done.stdout
    kept = list((tmp_path / "fuzz-tokenizer").iterdir())
    assert len(kept) == int(failed)
    for folder in kept:
        assert (folder / "in.jsonl").stat().st_size < 40 and (folder / "tokenizer.json").exists()
