"""What the tests of packages share: a Debian with nothing on it, Pythons, a broker, a mix.

`make test-packages` has built wheel and Debian packages before. Root is needed: a Debian is unpacked into a folder and
entered by chroot.
"""

import os
import pathlib
import re
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kafka"))

from machine import BARE, BUILT, OUTSIDE, ROOT, Debian, python_of, run  # noqa: E402


@pytest.fixture(scope="session")
def bare():
    if not (BARE / "etc/debian_version").exists():
        shutil.rmtree(BARE, ignore_errors=True)
        BARE.mkdir(parents=True)
        run("debootstrap", "--variant=minbase", "--include=python3-venv,ca-certificates", "bookworm", BARE, seconds=1800)
    return BARE


@pytest.fixture
def debian(bare, request, tmp_path_factory):
    """Its parameter, if there is one, is the fixture of a folder with further files."""
    folder = tmp_path_factory.mktemp("debian")
    yield Debian(folder, request.getfixturevalue(request.param) if hasattr(request, "param") else None)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def pytorch():
    """A folder with PyTorch in opt/pytorch, where it stays: pip takes minutes."""
    folder, wanted = BUILT / "packages/pytorch", (ROOT / "tests/torch/requirements.txt").read_text()
    (torch,) = re.findall("^torch==.*", wanted, re.M)
    if not (folder / torch).exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(python_of("3.11"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile",
            "--target", folder / "opt/pytorch", torch, env=OUTSIDE)
        (folder / torch).touch()
    return folder


@pytest.fixture(scope="session")
def wheel():
    (one,) = (BUILT / "wheels").glob("riffle-*.whl")
    return one


@pytest.fixture(scope="session")
def bootstrap():
    return os.environ["RIFFLE_TEST_BOOTSTRAP"]


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    """environment("3.9") -> the folder of a virtual environment with the wheel, confluent-kafka and nothing else."""
    made = {}

    def make(version):
        if version not in made:
            folder = tmp_path_factory.mktemp(f"python-{version}") / "venv"
            run(python_of(version), "-m", "venv", folder, env=OUTSIDE)
            run(folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--prefer-binary", wheel,
                "confluent-kafka", env=OUTSIDE)
            made[version] = folder
        return made[version]

    return make


@pytest.fixture(scope="session")
def mix(environment, bootstrap, tmp_path_factory):
    """The name of a mix of three steps, published by the program of the wheel."""
    folder, name = tmp_path_factory.mktemp("mix"), f"packages-{os.getpid()}"
    (folder / "a.jsonl").write_text("".join(f'{{"text": "row {n} of a text that is long enough for some tokens"}}\n'
                                            for n in range(400)))
    (folder / "run.yml").write_text(f"""corpus: {name}
tokenizer: {{file: {ROOT}/build/vocab/cl100k_base.tiktoken, pattern: cl100k, eos: "<|endoftext|>"}}
sequence_length: 16
domains: {{a: {{train: [a.jsonl]}}}}
mix: {{name: {name}, seed: 1, global_batch: 4, lanes: 2, weights: {{a: 1}}}}
""")
    riffle = environment("3.11") / "bin/riffle"
    env = {**OUTSIDE, "RIFFLE_BOOTSTRAP": bootstrap, "RIFFLE_CONFIG": str(folder / "run.yml")}
    for words in ("topics --create", "produce", "mix --until-step 3"):
        run(riffle, *words.split(), env=env)
    yield name
    run(riffle, "topics", "--delete", "--yes", env=env)
