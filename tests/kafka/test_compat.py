"""What earlier releases have left (tests/compat): this one reads all of it, and continues it with the same bytes."""

import json
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/compat"))
import release as releases

FOLDERS = sorted(folder for folder in releases.HERE.iterdir() if (folder / "run.yml").exists())


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def left(request, bootstrap, vocab):
    """The topics of a release as it has left them, on this run's broker."""
    release = releases.Release(request.param, bootstrap)
    release.remove()
    release.bring_back()
    yield release
    release.remove()


@pytest.fixture(scope="module")
def expected(left):
    return json.loads((left.folder / "expected.json").read_text())


def test_its_steps_are_derived_again_byte_by_byte(left):
    done = left.riffle("replay", "--steps", f"0..{releases.PAUSED}")
    records = releases.PAUSED * releases.LANES
    assert f"steps 0..{releases.PAUSED} of mix {releases.MIX}: {records} records" in done.stdout, done.stdout + done.stderr
    assert "all equal" in done.stdout
    for config, said in (("shared", "all equal"), ("derived", "the ledger agrees with each")):  # the latter has no copies
        assert said in left.riffle("replay", "--steps", f"0..{releases.PAUSED}", config=config).stdout


def test_its_checkpoint_is_resumed_and_its_steps_have_their_hashes(left, expected, package):
    import xxhash
    checkpoint = json.loads((left.folder / "checkpoint.json").read_text())
    seen = []
    with package.riffle.Reader(releases.MIX, left.bootstrap, rank=0, world=1, timeout=60) as reader:
        reader.load_state_dict(checkpoint)
        for step in reader:
            lanes = step.tokens.reshape(releases.LANES, -1)
            seen += [f"{step.step}\t{n}\t{xxhash.xxh64_hexdigest(lane.tobytes())}" for n, lane in enumerate(lanes)]
            reader.trained(step.step)
            if step.step + 1 == releases.PAUSED:
                break
        reader.flush()
    assert checkpoint["step"] == releases.TRAINED
    assert seen == [line.rpartition("\t")[0] for line in
                    expected["steps"][releases.TRAINED * releases.LANES:releases.PAUSED * releases.LANES]]


def test_its_mix_and_its_half_corpus_are_continued_with_the_same_bytes(left, expected):
    """Behind the others: the mix is ended."""
    found = left.finish()
    assert found["steps"] == expected["steps"]
    assert found["versions"] == expected["versions"]
    assert found["half"] == expected["half"]
    assert set(expected["more"]) == {"shared", "derived", "test"} and all(expected["more"].values())
    assert found["more"] == expected["more"]


def test_this_release_has_left_its_own():
    """release.py is run once a release, before its tag."""
    version = (ROOT / "VERSION").read_text().strip()
    assert version in [folder.name for folder in FOLDERS], f"tests/compat/{version} is missing: run tests/compat/release.py"
