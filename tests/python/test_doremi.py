"""riffle.DoReMi, riffle.ODM and riffle.domain_sums: the in-process learners, without a broker and without torch."""

import argparse
import copy
import math
import random
import sys

import numpy as np
import pytest

from conftest import ROOT


@pytest.fixture
def riffle(package):
    return package.riffle


DOMAINS = ["code", "news", "web"]


def test_domain_sums_clip_the_excess_a_token_and_leave_masked_tokens_out(riffle):
    losses = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]], np.float32)
    reference = np.array([[2.0, 1.5, 1.0], [1.0, 9.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]], np.float32)
    mask = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]])
    sums = riffle.domain_sums(losses, ["web", "code", "web", "news"], mask=mask, reference=reference)
    assert sums == {"web": (6.0 + 2.0, (0 + 0.5 + 2) + (1 + 0), 5), "code": (9.0, 3.0, 2)}
    assert riffle.domain_sums(losses[:1], ["web"]) == {"web": (6.0, 0.0, 3)}
    assert math.isnan(riffle.domain_sums(losses[1:2], ["code"])["code"][0])
    assert math.isnan(riffle.domain_sums(losses[1:2], ["code"], reference=reference[1:2])["code"][1])
    for words in ((losses[0], ["web"]), (losses, ["web"])):
        with pytest.raises(riffle.UsageError, match="they are \\[n, S\\] and n"):
            riffle.domain_sums(*words)
    with pytest.raises(riffle.UsageError, match="reference losses are"):
        riffle.domain_sums(losses, DOMAINS + ["web"], reference=reference[:, :2])
    with pytest.raises(riffle.UsageError, match="labels != -100"):
        riffle.domain_sums(losses, DOMAINS + ["web"], mask=np.where(mask, 7, -100))
    for more in ({}, {"reference": reference}):
        with pytest.raises(riffle.UsageError, match=r"losses are \[4, 3\], and the mask has \[4, 2\]: must be one loss for each label"):
            riffle.domain_sums(losses, DOMAINS + ["web"], mask=mask[:, :2], **more)


@pytest.mark.parametrize("losses, says", [
    (np.ones((1, 2), np.complex64), "losses are complex64: must be real numbers"),
    ([["1.5", "2"]], "losses are <U3: must be real numbers"),
    ([[b"1.5"]], "losses are .S3: must be real numbers"),
    ([[1.0], [1.0, 2.0]], "losses are not an array of numbers"),
    ([[{}]], "losses are not an array of numbers"),
])
def test_losses_that_are_no_real_numbers_are_refused(riffle, losses, says):
    with pytest.raises(riffle.UsageError, match=says):
        riffle.domain_sums(losses, ["web"] * len(losses))
    with pytest.raises(riffle.UsageError, match=f"reference {says}"):
        riffle.domain_sums(np.ones((1, 2)), ["web"], reference=losses)


@pytest.mark.parametrize("sums", [(1j, 0, 1), (np.complex128(1), 0, 1), ("1.5", 0, 1), (1, b"0", 1), (1, 0, "7")])
def test_sums_that_are_no_real_numbers_are_refused(riffle, sums):
    with pytest.raises(riffle.UsageError, match="losses of domain web are .*: must be two numbers and a whole number of tokens"):
        riffle.progress.losses_of({"web": sums})


def test_a_step_is_the_papers(riffle):
    doremi = riffle.DoReMi(["web", "code"], smoothing=0.1)
    assert doremi.weights == {"code": 0.5, "web": 0.5}
    weights = doremi.update({"code": (1.0, 4 * math.log(3), 4), "web": (9.0, 0.0, 7)})
    assert weights == pytest.approx({"code": 0.9 * 0.75 + 0.05, "web": 0.9 * 0.25 + 0.05})
    second = doremi.update({"code": (1.0, 0.0, 4)})  # web keeps its excess, 0
    assert second == pytest.approx({d: 0.9 * weights[d] + 0.05 for d in weights})
    assert doremi.average == pytest.approx({d: (weights[d] + second[d]) / 2 for d in weights})


def test_gradient_accumulation_changes_nothing(riffle):
    """All micro-batches of a step are weighted by that step's weights, and sum to the loss of the whole step."""
    print("seed", 5)
    rng = np.random.default_rng(5)
    whole, parts = riffle.DoReMi(DOMAINS), riffle.DoReMi(DOMAINS)
    for _ in range(20):
        names = [DOMAINS[i] for i in rng.integers(0, 3, 12)]
        losses, reference = rng.uniform(1, 5, (12, 8)), rng.uniform(1, 5, (12, 8))
        mask = rng.random((12, 8)) < 0.8
        sums = riffle.domain_sums(losses, names, mask=mask, reference=reference)
        whole.update(sums)
        for k in range(0, 12, 3):
            parts.add(riffle.domain_sums(losses[k:k + 3], names[k:k + 3], mask=mask[k:k + 3],
                                         reference=reference[k:k + 3]))
            with pytest.raises(riffle.UsageError, match="not known yet"):
                parts.loss_weights(names)
        assert parts.update() == pytest.approx(whole.weights, rel=1e-12)
        total = sum(float((losses[k:k + 3] * mask[k:k + 3] * parts.loss_weights(names[k:k + 3])[:, None]).sum())
                    for k in range(0, 12, 3))
        means = {d: s[0] / s[2] for d, s in sums.items()}
        assert total == pytest.approx(sum(whole.weights[d] * means[d] for d in means), rel=1e-12)
        assert np.allclose(parts.loss_weights(names, world=4), 4 * parts.loss_weights(names))


def test_losses_that_are_no_numbers_are_dropped_and_counted(riffle):
    doremi = riffle.DoReMi(DOMAINS)
    doremi.update({"code": (1.0, 2.0, 1), "web": (1.0, 1.0, 1)})
    before = dict(doremi.excess)
    doremi.update({"code": (math.nan, 1.0, 1), "web": (1.0, math.inf, 1), "news": (1.0, -1.0, 1)})
    assert doremi.excess == before and doremi.dropped == 3
    with pytest.raises(riffle.UsageError, match="unknown domains moon"):
        doremi.add({"moon": (1.0, 0.0, 1)})


def test_a_checkpoint_goes_on_with_the_same_bits(riffle):
    print("seed", 6)
    rng = random.Random(6)
    steps = [{d: (rng.uniform(1, 9), rng.uniform(0, 2), rng.randrange(1, 9)) for d in DOMAINS} for _ in range(40)]
    for make in (lambda: riffle.DoReMi(DOMAINS, reference={"code": 1, "news": 2, "web": 3}), lambda: riffle.ODM(DOMAINS)):
        straight, first, second = make(), make(), make()
        for s in steps:
            straight.update(s)
        for s in steps[:17]:
            first.update(s)
        second.load_state_dict(first.state_dict())
        for s in steps[17:]:
            second.update(s)
        assert second.state_dict() == straight.state_dict()
    with pytest.raises(riffle.DataError, match="the checkpoint is of domains"):
        riffle.DoReMi(["code", "web"]).load_state_dict(riffle.DoReMi(DOMAINS).state_dict())


def test_the_average_converges_to_the_minimax_weights(riffle):
    """A proxy of one number x, losses (x - c)^2 / 2: the worst is least half-way between the outermost."""
    centre, doremi, x = {"code": 0.0, "news": 1.0, "web": 4.0}, riffle.DoReMi(DOMAINS, eta=0.02, smoothing=0), 0.3
    for _ in range(20000):
        doremi.update({d: (0.0, 10 * (x - c) ** 2 / 2, 10) for d, c in centre.items()})
        x -= 0.02 * sum(doremi.weights[d] * (x - c) for d, c in centre.items())
    assert doremi.average == pytest.approx({"code": 0.5, "news": 0, "web": 0.5}, abs=0.01)


def test_odm_is_the_papers_and_prefers_the_larger_loss(riffle):
    odm = riffle.ODM(["a", "b"], memory=0)
    for _ in range(200):
        odm.update({"a": (40.0, 0.0, 10), "b": (10.0, 0.0, 5)})
    assert odm.weights["a"] == pytest.approx(0.5191177823862875, rel=1e-14)


def test_a_checkpoint_of_a_bandit_continues_it_without_what_was_added_since(riffle):
    sums = {"a": (40.0, 0.0, 10), "b": (10.0, 0.0, 5)}
    odm, other = riffle.ODM(["a", "b"]), riffle.ODM(["b", "a"], memory=0.5, eta=2.0)
    odm.update(sums)
    state = odm.state_dict()
    other.add({"a": (1000.0, 0.0, 1)})
    other.load_state_dict(state)
    assert other.sums == {} and other.state_dict() == state
    assert other.update(sums) == odm.update(sums)
    with pytest.raises(riffle.DataError, match="the checkpoint is of domains a, b, not a, c"):
        riffle.ODM(["a", "c"]).load_state_dict(state)


@pytest.fixture(params=["DoReMi", "ODM"])
def learner(request, riffle):
    """learner(**options): a DoReMi or an ODM of three domains."""
    return lambda **options: getattr(riffle, request.param)(DOMAINS, **options)


STEPS = [{"code": (4.0, 1.0, 2), "web": (9.0, 0.5, 3)}, {"news": (2.0, math.nan, 1)}, {"code": (-3.0, 0.25, 1), "news": (0.0, 0.0, 4)}]


def test_a_used_object_that_loads_a_state_is_as_a_fresh_one_that_loads_it(riffle, learner):
    first, fresh, used = learner(), learner(), learner(eta=3.0)
    for step in STEPS:
        first.update(step)
    state = first.state_dict()
    before = copy.deepcopy(state)
    used.update({"web": (100.0, 7.0, 1), "news": (1.0, -1.0, 1)})
    used.add({"web": (50.0, 50.0, 1)}) if isinstance(used, riffle.ODM) else None
    for one in (fresh, used):
        one.load_state_dict(state)
        assert one.sums == {} and one.state_dict() == before
        if isinstance(one, riffle.DoReMi):
            with pytest.raises(riffle.UsageError, match="not known yet"):
                one.loss_weights(DOMAINS)
    for step in STEPS:
        assert used.update(step) == fresh.update(step) == first.update(step)
    assert used.state_dict() == fresh.state_dict() == first.state_dict() and state == before


def test_a_load_between_two_steps_forgets_what_was_added(riffle):
    doremi = riffle.DoReMi(DOMAINS)
    state = doremi.state_dict()
    doremi.add({"web": (1.0, 9.0, 1)})
    with pytest.raises(riffle.UsageError, match="between add"):
        doremi.state_dict()
    doremi.load_state_dict(state)
    assert doremi.sums == {} and doremi.state_dict() == state


def test_what_a_learner_gives_is_the_callers(learner):
    one = learner()
    one.update(STEPS[0])
    state = copy.deepcopy(one.state_dict())
    for given in (one.update(STEPS[1]), one.sums, one.state_dict()["weights"]):
        given.clear()
    assert one.weights.keys() == set(DOMAINS) and set(state["weights"]) == set(DOMAINS)
    taken = one.state_dict()
    one.update(STEPS[2])
    assert taken != one.state_dict()


def test_a_loss_of_zero_is_a_loss_and_a_mean_has_limits(riffle):
    assert riffle.domain_sums(np.zeros((1, 2)), ["web"]) == {"web": (0.0, 0.0, 2)}
    odm = riffle.ODM(["a", "b"], memory=0.5, eta=2.0)
    odm.update({"a": (8.0, 0.0, 2), "b": (6.0, 0.0, 1)})
    assert odm.reward == {"a": 0.5 * 2 * 4, "b": 0.5 * 2 * 6}
    odm.update({"a": (0.0, 0.0, 2)})
    assert odm.reward == {"a": 2.0, "b": 6.0}
    odm.update({"a": (-1e9, 0.0, 1), "b": (1e9, 0.0, 1)})
    assert odm.reward == {"a": 1.0 - 1e6, "b": 3.0 + 1e6}


def test_the_average_is_that_of_the_updates_and_not_of_where_they_began(riffle):
    doremi, seen = riffle.DoReMi(["a", "b"], reference={"a": 1, "b": 9}), []
    for n in range(1, 4):
        seen.append(doremi.update({"a": (1.0, float(n), 1), "b": (1.0, 0.0, 1)}))
        assert doremi.average == pytest.approx({d: sum(w[d] for w in seen) / n for d in "ab"}, rel=1e-12)


@pytest.mark.parametrize("bad", [{"domains": ["a"], "eta": math.inf}, {"domains": ["a"], "memory": 1}, {"domains": ["a"], "memory": -0.1},
                                 {"domains": ["a"], "eta": 0}, {"domains": ["a", "a"]}])
def test_a_bandit_that_makes_no_sense_is_refused(riffle, bad):
    riffle.ODM(["a"], memory=0, eta=1e-9)
    with pytest.raises(riffle.UsageError):
        riffle.ODM(**bad)


@pytest.mark.parametrize("bad", [{"domains": ["a"], "reference": {"a": math.inf}}, {"domains": ["a"], "reference": {"b": 1}}, {"domains": ["a"], "eta": math.inf}, {"domains": []}, {"domains": ["a", "a"]}, {"domains": ["a"], "eta": 0},
                                 {"domains": ["a"], "smoothing": 2}, {"domains": ["a"], "smoothing": 1},
                                 {"domains": ["a"], "reference": {"a": 0}}])
def test_what_makes_no_sense_is_refused(riffle, bad):
    with pytest.raises(riffle.UsageError):
        riffle.DoReMi(**bad)


def test_the_examples_print_their_results_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.syspath_prepend(ROOT / "examples")
    import doremi
    import train

    said = []
    monkeypatch.setattr(doremi, "say", said.append)
    monkeypatch.setattr(doremi, "show", lambda runs: None)
    monkeypatch.setattr(doremi, "one_seed", lambda a, seed: {})
    monkeypatch.setattr(doremi.t, "deterministic", lambda: None)
    monkeypatch.setattr(doremi.t, "riffle_command", lambda *_, **__: None)
    monkeypatch.setattr(doremi, "configure", lambda *_, **__: None)
    monkeypatch.setattr(doremi.subprocess, "run", lambda *_, **__: None)
    doremi.run(argparse.Namespace(out=tmp_path, seeds=[1], riffle="true"))
    assert "; no picture, because matplotlib is missing (pip install matplotlib); took " in said[0]
    assert train.save_picture(tmp_path / "train.png", train.draw).startswith("no picture")


@pytest.mark.parametrize("available, initialized, backend, device", [(True, True, "nccl", "cuda"), (True, True, "gloo", "cpu"),
                                                                    (True, False, None, None), (False, False, None, None)])
def test_sums_are_those_of_all_ranks_of_a_group(riffle, monkeypatch, available, initialized, backend, device):
    """Over a stand-in for torch, whose group has a second rank with the same sums."""
    calls = []

    def tensor(values, dtype, device):
        calls.append((dtype, device))
        return np.array(values)

    def all_reduce(values, group):
        calls.append(group)
        values *= 2

    distributed = argparse.Namespace(is_available=lambda: available, is_initialized=lambda: initialized, all_reduce=all_reduce,
                                     get_backend=lambda group: backend if group == "mine" else None)
    monkeypatch.setitem(sys.modules, "torch", argparse.Namespace(distributed=distributed, tensor=tensor, float64="float64"))
    learner = riffle.DoReMi(["a", "b"])
    learner.update({"a": (2.0, 1.0, 4), "b": (2.0, 3.0, 2)}, group="mine")
    assert calls == ([("float64", device), "mine"] if device else [])
    assert learner.loss_weights(["a"], world=2)[0] == 2 * learner.weights["a"] / (8 if device else 4)
    assert learner.excess == {"a": 0.25, "b": 1.5}


def test_losses_of_a_tensor_are_summed_as_float64(riffle):
    class Tensor(np.ndarray):
        """On another device, with a graph, of a type that numpy lacks."""

        detach = lambda self: argparse.Namespace(
            dtype=argparse.Namespace(is_floating_point=True), double=lambda: argparse.Namespace(
                dtype="float64", cpu=lambda: argparse.Namespace(numpy=lambda: np.asarray(self))), cpu=None)

    losses = np.array([[0.1, 0.2]]).view(Tensor)
    assert riffle.domain_sums(losses, ["a"]) == {"a": (0.1 + 0.2, 0.0, 2)}
