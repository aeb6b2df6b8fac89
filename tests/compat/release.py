"""What a release leaves behind, kept in a folder of this one that is named by its version, for later releases to continue:

    run.yml, half.yml  configurations: a corpus with a mix, and a corpus of which half is published
    shared.yml, derived.yml  two mixes of one more corpus, with a test set: lanes that share partitions, and no copies of batches
    data/              their texts
    topics.tsv.gz      every record: topic, partition, key and value in hex
    checkpoint.json    of a trainer
    expected.json      what the release itself made of all that afterwards

`build/venv/bin/python tests/compat/release.py` writes the folder of the release that is built, by a broker that
RIFFLE_BOOTSTRAP names or `scripts/kafka up` starts. docs/UPGRADING.md says when. tests/kafka/test_compat.py continues each.
"""

import collections
import gzip
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
MIX, LANES, PAUSED, END, TRAINED = "compat-mix", 4, 24, 48, 10

RUN = f"""\
corpus: compat
tokenizer: {{file: ../../../build/vocab/r50k_base.tiktoken, pattern: gpt2, eos: "<|endoftext|>"}}
sequence_length: 32
split: 90,10,0
domains:
  code:  {{train: ["data/code.jsonl"], partitions: 2}}
  prose: {{train: ["data/prose.jsonl"]}}
  news:  {{train: ["data/news.jsonl"], live: true}}
mix:
  name: {MIX}
  seed: 7
  global_batch: 8
  lanes: {LANES}
  max_lead_steps: 64
  weights: {{code: 0.5, prose: 0.4, news: 0.1}}
  phases:
    - {{name: anneal, start_step: 32, weights: {{prose: 0.8}}, lr_scale: 0.5}}
"""
HALF = """\
corpus: compat-half
tokenizer: {file: ../../../build/vocab/r50k_base.tiktoken, pattern: gpt2, eos: "<|endoftext|>"}
sequence_length: 32
domains:
  docs: {train: ["data/docs.jsonl"]}
mix: {name: compat-half-mix, seed: 7, global_batch: 4, lanes: 1, weights: {docs: 1}}
"""
MORE = """\
corpus: compat-more
tokenizer: {file: ../../../build/vocab/r50k_base.tiktoken, pattern: gpt2, eos: "<|endoftext|>"}
sequence_length: 32
split: 80,10,10
domains:
  docs: {train: ["data/docs.jsonl"], partitions: 2}
mix:
  seed: 7
  global_batch: 8
  lanes: 4
  weights: {docs: 1}
"""
MORE_MIXES = {"shared": MORE + "  name: compat-shared-mix\n  partitions: 2\n", "derived": MORE + "  name: compat-derived-mix\n  batches: derived\n"}
CONFIGS = {"run": RUN, "half": HALF, **MORE_MIXES}
# Of each domain: documents, and the words that its texts are drawn from.
TEXTS = {"code": (60, "for if else return int char void while switch case break struct static const = + - ( ) { } ;"),
         "prose": (50, "the of and to in that was he it his with as had for at by which have from this"),
         "news": (40, "today said new year people first time state world after two more last week government"),
         "docs": (60, "open close read write file name value error message option default example see also")}


class Release:
    """The programs that are built, the folder of a release, and a broker."""

    def __init__(self, folder, bootstrap):
        self.folder, self.bootstrap = folder, bootstrap
        self.env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
        self.env.pop("RIFFLE_CONFIG", None)

    def run(self, *words, check=True, input=None, **env):
        done = subprocess.run([str(w) for w in words], env={**self.env, **env}, input=input, text=True, capture_output=True,
                              timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def riffle(self, command, *words, config="run", **more):
        return self.run(BUILD / "riffle", command, "-c", self.folder / f"{config}.yml", *words, **more)

    def topics(self, config):
        lines = self.riffle("topics", config=config).stdout.splitlines()
        return [line.split()[0] for line in lines if line.startswith("compat")]

    def records(self, topic):
        """[(partition, key in hex, value in hex)], partition by partition."""
        rows = (line.split("\t") for line in self.run(BUILD / "tests/tools/topic", "read-keys", topic).stdout.splitlines())
        return [(int(partition), key, value) for partition, key, value in rows]

    def remove(self):
        for config in CONFIGS:  # --force: two mixes draw from one corpus
            self.riffle("topics", "--delete", "--yes", "--force", config=config, check=False)

    def keep(self):
        """Writes every record of all topics into the folder; of the half corpus as many as a killed producer leaves."""
        topics = [topic for config in ("run", *MORE_MIXES) for topic in self.topics(config)]
        whole = [f"{topic}\t{p}\t{key}\t{value}\n" for topic in dict.fromkeys(topics) for p, key, value in self.records(topic)]
        docs = [f"compat-half.docs\t{p}\t{key}\t{value}\n" for p, key, value in self.records("compat-half.docs")]
        lines = whole + docs[:len(docs) // 2]
        with open(self.folder / "topics.tsv.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write("".join(lines).encode())

    def bring_back(self):
        """Topics of their configurations, made by the program that is built, with the records that were kept."""
        records = collections.defaultdict(list)
        for line in gzip.decompress((self.folder / "topics.tsv.gz").read_bytes()).decode().splitlines():
            topic, rest = line.split("\t", 1)
            records[topic].append(rest + "\n")
        for config in CONFIGS:
            self.riffle("topics", "--create", config=config)
        for topic, lines in records.items():
            self.run(BUILD / "tests/tools/topic", "append-keys", topic, input="".join(lines))
        # Offsets are others than they were, since there are no markers of transactions: commits are set anew.
        self.riffle("runs", "--reset", "trainers", "--to", TRAINED, "--idle", 0, check=False)

    def finish(self):
        """-> what expected.json holds: the mixes drawn to their ends, the half corpus published whole."""
        self.riffle("mix", "--end-at-step", END)
        steps = self.riffle("read", "--from-step", 0, "--timeout", 60).stdout.splitlines()
        weights = self.riffle("weights", "--json").stdout
        self.riffle("produce", config="half")
        for config in MORE_MIXES:
            self.riffle("mix", "--end-at-step", END, config=config)
        more = {config: self.riffle("read", "--from-step", 0, "--timeout", 60, config=config).stdout.splitlines() for config in MORE_MIXES}
        test = self.riffle("read", "--set", "test", "--domain", "docs", config="shared").stdout.splitlines()
        return {"more": {**more, "test": test}, "steps": steps, "versions": [{k: v[k] for k in ("step", "reason", "weights")} for v in json.loads(weights)["history"]],
                "half": {t: self.digest(t) for t in sorted(self.topics("half")) if not t.startswith("compat-half-mix")}}

    def digest(self, topic):
        return hashlib.sha256("".join(f"{p} {value}\n" for p, _, value in self.records(topic)).encode()).hexdigest()


def write_texts(folder):
    (folder / "data").mkdir(parents=True)
    for domain, (documents, words) in TEXTS.items():
        rng, words = random.Random(domain), words.split()
        with open(folder / "data" / f"{domain}.jsonl", "w") as file:
            for _ in range(documents):
                text = " ".join(rng.choice(words) + rng.choice(["", "", "s", ","]) for _ in range(rng.randrange(20, 200)))
                file.write(json.dumps({"text": text}) + "\n")


def train(release):
    """Trains TRAINED steps, commits them, and leaves the checkpoint."""
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["RIFFLE_LIBRARY"] = str(BUILD / "libriffle.so.0")
    import riffle
    with riffle.Reader(MIX, release.bootstrap, rank=0, world=1, timeout=60) as reader:
        for step in reader:
            reader.trained(step.step)
            if step.step + 1 == TRAINED:
                break
        reader.flush()
        (release.folder / "checkpoint.json").write_text(json.dumps(reader.state_dict()) + "\n")


def request(release, *words):
    """Asks the next mixer: none runs."""
    done = release.riffle(*words, check=False)
    assert done.returncode == 1 and "REQUEST-NO-MIXER" in done.stderr, done


def make(release):
    write_texts(release.folder)
    for config, text in CONFIGS.items():
        (release.folder / f"{config}.yml").write_text(text)
    release.remove()
    for config in CONFIGS:
        release.riffle("topics", "--create", config=config)
    for config in ("run", "half", "shared"):  # the corpus of `derived` is that of `shared`
        release.riffle("produce", config=config)
    for config in MORE_MIXES:
        release.riffle("mix", "--until-step", PAUSED, config=config)
    release.riffle("mix", "--until-step", TRAINED + 2)
    train(release)
    request(release, "weights", "code=0.7", "--at-step", 20)
    request(release, "skip", "code/1", "3..6")
    release.riffle("mix", "--until-step", PAUSED)
    request(release, "weights", "prose=0.3", "--at-step", 40, "--lr-scale", 0.25)
    release.keep()
    (release.folder / "expected.json").write_text(json.dumps(release.finish(), indent=1) + "\n")
    release.remove()


def main():
    folder = HERE / (ROOT / "VERSION").read_text().strip()
    if folder.exists():
        sys.exit(f"release: {folder} is there: what a release has left is not changed afterwards")
    bootstrap = subprocess.run([ROOT / "scripts/kafka", "up"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    make(Release(folder, bootstrap))
    print(folder)


if __name__ == "__main__":
    main()
