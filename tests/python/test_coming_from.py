"""The configurations of docs/COMING-FROM.md and docs/GUIDE.md: every file loads and plans without a broker, and says what they show."""

import json
import re

import pytest

from conftest import ROOT

CONFIGS = sorted((ROOT / "examples/configs").glob("*.yml"))
PAGE = (ROOT / "docs/COMING-FROM.md").read_text()
NO_BROKER = {"RIFFLE_BOOTSTRAP": "127.0.0.1:1"}


def plan_of(riffle, path):
    """The command that the file's first lines name, as JSON."""
    words = re.search(r"^# +riffle (plan -c \S+ .*)$", path.read_text(), re.M)[1].split()
    assert ROOT / words[2] == path
    return json.loads(riffle(*words, "--json", cwd=ROOT, env=NO_BROKER).stdout)


def drawn(riffle, name, n):
    lines = riffle("plan", "-c", ROOT / f"examples/configs/{name}.yml", "--draws", n, env=NO_BROKER).stdout.splitlines()
    return [tuple(line.split("\t")[1:]) for line in lines]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_every_configuration_is_checked_and_planned_without_a_broker(riffle, path):
    assert ": ok: corpus" in riffle("config", "--check", "--no-inputs", "-c", path, env=NO_BROKER).stdout
    planned = plan_of(riffle, path)
    assert all(d["taken"] > 0 for d in planned["domains"])
    for d in planned["domains"]:
        assert d["realised"] == pytest.approx(d["target"] if "target" in d else d["realised"])


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_the_page_shows_lines_of_the_file(path):
    """Every line under "# examples/configs/X.yml" is one of X.yml, but for its place."""
    shown = re.search(rf"```yaml\n# examples/configs/{path.name}\n(.*?)```", PAGE, re.S)
    assert shown, f"{path.name} is not in docs/COMING-FROM.md"
    there = {line.strip() for line in path.read_text().splitlines()}
    assert [line for line in shown[1].splitlines() if line.strip() not in there] == []


def test_verl_s_rounds_are_exact_and_no_problem_is_left_out(riffle):
    planned = plan_of(riffle, ROOT / "examples/configs/verl.yml")
    by = {d["name"]: d for d in planned["domains"]}
    assert planned["draws"] == 7000 and by["gsm8k"]["taken"] == by["math"]["taken"] == 3500
    assert by["math"]["epoch"] == 3


def test_weights_left_out_are_concatenation(riffle, tmp_path):
    text = (ROOT / "examples/configs/verl.yml").read_text()
    text = "\n".join(line for line in text.splitlines() if "left out" not in line)
    (tmp_path / "size.yml").write_text(text)
    planned = json.loads(riffle("plan", "-c", tmp_path / "size.yml", "--sizes", "gsm8k=7000,math=1000", "--steps", 200, "--json",
                                env=NO_BROKER).stdout)
    assert {d["name"]: d["taken"] for d in planned["domains"]} == {"gsm8k": 7000, "math": 1000}


def test_streaming_s_epoch_has_its_proportions(riffle):
    planned = plan_of(riffle, ROOT / "examples/configs/streaming.yml")
    assert planned["draws"] == 6000 and [d["taken"] for d in planned["domains"]] == [1500, 4500]


def test_the_first_exhausted_source_ends_the_mix(riffle):
    planned = plan_of(riffle, ROOT / "examples/configs/interleave.yml")
    assert planned["ended"] and planned["steps"] == 1000
    assert all(d["epoch"] == 0 or d["position"] == 0 for d in planned["domains"])


def megatron_batches(start, increment, samples, most, steps):
    """RampupBatchsizeNumMicroBatchesCalculator, step by step."""
    consumed, found = 0, []
    each = samples / ((most - start) // increment)
    for _ in range(steps):
        found.append(most if consumed > samples else start + int(consumed / each) * increment)
        consumed += found[-1]
    return found


def test_a_ramp_has_megatron_s_batches_and_leaves_the_index_as_it_is(riffle, tmp_path):
    path = ROOT / "examples/configs/rampup.yml"
    start, increment, samples, most = map(int, re.search(
        r"--rampup-batch-size (\d+) (\d+) (\d+) --global-batch-size (\d+)", path.read_text()).groups())
    planned = plan_of(riffle, path)
    begins = {p["first_step"]: p["global_batch"] for p in planned["phases"]}
    batches = [begins[max(s for s in begins if s <= step)] for step in range(100)]
    assert batches == megatron_batches(start, increment, samples, most, 100) and sum(batches) == planned["draws"]
    (tmp_path / "constant.yml").write_text(re.sub(r"  phases:\n(    .*\n)+", "", path.read_text()))
    index = [riffle("plan", "-c", p, "-s", "mix.schedule=greedy", "--draws", 5000, env=NO_BROKER).stdout
             for p in (path, tmp_path / "constant.yml")]
    assert index[0] == index[1] and index[0].count("\n") == 5000


def guide_configuration():
    """The file of the guide's first mix, with what it adds to its `mix`."""
    text = (ROOT / "docs/GUIDE.md").read_text()
    first = re.search(r"```yaml\n(corpus: quick\n.*?)```", text, re.S)[1]
    more = re.search(r"```yaml\n(  temperature: .*?)```", text, re.S)[1]
    return first, first.replace("kafka:\n", more + "kafka:\n")


def test_the_guide_s_phase_temperature_and_rounds_do_what_it_says(riffle, tmp_path):
    first, whole = guide_configuration()
    sizes = ["--sizes", "code=2115,prose=4217", "--steps", 500, "--json"]
    (tmp_path / "run.yml").write_text(whole)
    planned = json.loads(riffle("plan", "-c", tmp_path / "run.yml", *sizes, env=NO_BROKER).stdout)
    before, anneal = ({d["name"]: d["intended"] for d in p["domains"]} for p in planned["phases"])
    assert {d: round(100 * share, 1) for d, share in before.items()} == {"code": 39.6, "prose": 60.4}
    assert anneal == {"code": pytest.approx(0.6 / 1.3, abs=1e-4), "prose": pytest.approx(0.7 / 1.3, abs=1e-4)}
    assert planned["phases"][1]["phase"] == "anneal" and planned["phases"][1]["first_step"] == 40
    (tmp_path / "greedy.yml").write_text(first)
    lines = riffle("plan", "-c", tmp_path / "greedy.yml", "-s", "mix.schedule=greedy", "--draws", 1000, env=NO_BROKER).stdout
    assert [["code", "prose"].index(line.split("\t")[1]) for line in lines.splitlines()] == [
        i for i, _ in blended([0.3, 0.7], 1000)]


def blended(weights, n):
    """dataset_index and dataset_sample_index as the others define them: the largest error first, ties to the lowest."""
    taken, found = [0] * len(weights), []
    for k in range(n):
        error = [w * max(k, 1.0) - t for w, t in zip(weights, taken)]
        i = error.index(max(error))
        found.append((i, taken[i]))
        taken[i] += 1
    return found


def test_greedy_is_the_index_of_megatron_where_weights_are_whole_numbers(riffle):
    """Megatron divides by the sum, which NumPy makes of the doubles."""
    names = ["code", "prose", "web"]
    ours = [(names.index(d), int(i)) for d, i in drawn(riffle, "megatron", 5000)]
    assert ours == blended([w / 100 for w in (70.0, 20.0, 10.0)], 5000)
    assert sum((0.7, 0.2, 0.1)) != 1  # what the page warns of
    divided = blended([w / sum((0.7, 0.2, 0.1)) for w in (0.7, 0.2, 0.1)], 5000)
    assert ours != divided and blended([0.7, 0.2, 0.1], 5000) == ours


def test_greedy_begins_again_with_a_stage_of_nanotron(riffle):
    names = ["SlimPajama", "europarl"]
    ours = [names.index(d) for d, _ in drawn(riffle, "nanotron", 299 * 64 + 1000)]
    assert ours[:299 * 64] == [i for i, _ in blended([0.8, 0.2], 299 * 64)]
    assert ours[299 * 64:] == [i for i, _ in blended([0.5, 0.5], 1000)]


def test_a_phase_keeps_the_weight_of_a_domain_that_it_does_not_name(riffle, tmp_path):
    """What Levanter's users must write as 0."""
    text = (ROOT / "examples/configs/levanter.yml").read_text()
    (tmp_path / "run.yml").write_text(text.replace("{owt: 0.2, wikitext: 0.8}", "{owt: 0.4}"))
    planned = json.loads(riffle("plan", "-c", tmp_path / "run.yml", "--sizes", "owt=90000,wikitext=2300", "--steps", 2000, "--json",
                                env=NO_BROKER).stdout)
    late = {d["name"]: d["intended"] for d in planned["phases"][1]["domains"]}
    assert late == {"owt": pytest.approx(0.5), "wikitext": pytest.approx(0.5)}
