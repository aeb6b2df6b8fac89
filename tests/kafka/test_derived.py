"""Mixes without copies (mix.batches: derived): readers derive the steps of a mix with copies, on a real broker."""

import json
import subprocess

import pytest

from paced_trainer import Trainer

WEIGHTS = {"a": 0.6, "b": 0.3, "c": 0.1}


@pytest.fixture
def twins(configure):
    """The configurations of one mix with copies, and of one without."""
    def make(weights=WEIGHTS, **keys):
        return [configure(weights, form, batches=form, **keys) for form in ("copied", "derived")]
    return make


def test_readers_of_a_mix_without_copies_have_the_steps_of_one_with_them(riffle, fill, twins, read):
    fill(*WEIGHTS, sequences=200)
    copied, derived = twins()
    for config in copied, derived:
        riffle("mix", "-c", config, "--until-step", 60)
    whole = read(copied, 60)
    assert len(whole) == 60 * 8
    assert read(derived, 60) == whole
