"""docs/OPERATIONS.md, "Backup and mirror": ledger and control topic kept by examples/backup.py bring a mix back whole."""

import os

import pytest

from machine import OUTSIDE, ROOT, run

DOMAINS = ("a", "b")


@pytest.fixture
def riffle(environment, bootstrap, tmp_path):
    name = f"backup-{os.getpid()}"
    for domain in DOMAINS:
        (tmp_path / f"{domain}.jsonl").write_text("".join(f'{{"text": "row {n} of {domain}, long enough for some tokens"}}\n'
                                                          for n in range(400)))
    (tmp_path / "run.yml").write_text(f"""corpus: {name}
tokenizer: {{file: {ROOT}/build/vocab/cl100k_base.tiktoken, pattern: cl100k, eos: "<|endoftext|>"}}
sequence_length: 16
domains: {{a: {{train: [a.jsonl]}}, b: {{train: [b.jsonl]}}}}
mix: {{name: {name}-mix, seed: 1, global_batch: 4, lanes: 2, max_lead_steps: 64, weights: {{a: 3, b: 1}}}}
""")
    env = {**OUTSIDE, "RIFFLE_BOOTSTRAP": bootstrap, "RIFFLE_CONFIG": str(tmp_path / "run.yml")}

    def command(words, *more):
        return run(environment("3.11") / "bin/riffle", *words.split(), *more, env=env)

    command.mix = f"{name}-mix"
    yield command
    command("topics --delete --yes")


def test_a_mix_of_which_only_ledger_and_control_topic_were_kept_comes_back(riffle, environment, bootstrap, tmp_path):
    backup = (environment("3.11") / "bin/python", ROOT / "examples/backup.py")
    kept = tmp_path / "mix.backup"
    riffle("topics --create")
    riffle("produce")
    riffle("mix --until-step 8")
    steps = riffle("read --steps 8 --commit-every 1 --quiet").splitlines()
    riffle("mix --until-step 10")  # the ledger knows now where the run is
    with pytest.raises(AssertionError, match="is open"):  # no mixer runs: it is in the control topic alone
        riffle("weights a=1 b=3 --at-step 12")
    run(*backup, "save", kept, bootstrap, f"{riffle.mix}.ledger", f"{riffle.mix}.control", env=OUTSIDE)

    riffle("topics --delete --yes")
    riffle("topics --create")
    said = run(*backup, "restore", kept, bootstrap, env=OUTSIDE)
    assert f"{riffle.mix}.control: 1 records, at their offsets" in said
    with pytest.raises(AssertionError, match="is not empty"):
        run(*backup, "restore", kept, bootstrap, env=OUTSIDE)

    riffle("produce")
    assert "wrote 12 records" in riffle("repair --from-step 4")
    with pytest.raises(AssertionError, match="is open"):
        riffle("runs --reset trainers --to 8 --idle 0")
    riffle("mix --until-step 20")
    assert riffle("read --from-step 4 --steps 4 --run other --quiet").splitlines() == steps[4 * 2:]
    assert "all equal" in riffle("replay --steps 4..20")
    assert "since step 12" in riffle("weights")
