"""What a run is fed with: two sealed domains and one whose file keeps growing, all made from the seed."""

import gzip
import json
import random
import time

WORDS = 4000
LIVE = "news"
SEALED = {"books": 2, "code": 1}  # and their partitions
WEIGHTS = {"books": 0.5, "code": 0.3, LIVE: 0.2}


def vocabulary(seed):
    rng = random.Random(f"{seed} words")
    return ["".join(rng.choice("etaoinshrdlucmfwypvbgkqjxz") for _ in range(rng.randint(2, 9))) for _ in range(WORDS)]


class Corpus:
    """Files in a folder. The document with number i of a domain depends on the seed alone."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.words = folder, seed, vocabulary(seed)
        self.live_next, self.live_began, self.live_rate = 0, None, 0
        folder.mkdir(parents=True, exist_ok=True)
        self.live_path = folder / f"{LIVE}.jsonl"
        self.live_path.write_text("")

    def document(self, domain, i):
        rng = random.Random(f"{self.seed} {domain} {i}")
        return json.dumps({"text": " ".join(rng.choices(self.words, k=rng.randint(20, 280)))}) + "\n"

    def write_sealed(self, documents):
        for part in range(4):
            with open(self.folder / f"books.{part}.jsonl", "w") as out:
                out.writelines(self.document("books", i) for i in range(part, documents, 4))
        with gzip.open(self.folder / "code.jsonl.gz", "wt", compresslevel=1) as out:
            out.writelines(self.document("code", i) for i in range(documents // 2))

    def domains(self):
        return {
            "books": {"train": [str(self.folder / "books.*.jsonl")], "partitions": SEALED["books"]},
            "code": {"train": [str(self.folder / "code.jsonl.gz")]},
            LIVE: {"train": [str(self.live_path)], "live": True, "on_dry": "wait"},
        }

    def feed(self):
        """A chore: appends what is due, as whole lines."""
        if not self.live_rate:
            return
        due = int((time.monotonic() - self.live_began) * self.live_rate)
        if due > self.live_next:
            with open(self.live_path, "a") as out:
                out.write("".join(self.document(LIVE, i) for i in range(self.live_next, due)))
            self.live_next = due

    def begin_live(self, documents_s):
        self.live_began, self.live_rate = time.monotonic() - self.live_next / documents_s, documents_s

    def end_live(self):
        self.live_rate = 0
