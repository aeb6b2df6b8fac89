"""The wheel of `make wheel`: whole, for every Python, beside confluent-kafka, and on a machine that has nothing."""

import pathlib
import re
import zipfile

import pytest

import tutorial
from machine import OUTSIDE, PROXIES, ROOT, run

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


def test_auditwheel_finds_all_of_it_inside(wheel):
    version = re.escape((ROOT / "VERSION").read_text().strip())
    assert re.fullmatch(rf"riffle-{version}-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name)
    env = {**OUTSIDE, "PATH": f"{ROOT}/build/venv-wheel/bin:{OUTSIDE['PATH']}"}
    shown = run("auditwheel", "show", wheel, env=env)
    assert re.search(r"consistent with the\s+following platform tag:\s+\"manylinux_2_\d+_", shown), shown
    names = zipfile.ZipFile(wheel).namelist()
    assert {"riffle/bin/riffle", "riffle/libriffle.so.0", "riffle_source.py", "riffle/licences/librdkafka.txt",
            "riffle/bin/kafka", "riffle/bin/maven-jars"} <= set(names)


READ = """
import hashlib, sys
for module in sys.argv[3:]:
    __import__(module)
import riffle
with riffle.Reader(sys.argv[1], sys.argv[2], timeout=120) as reader:
    steps = [hashlib.sha256(next(reader).tokens.tobytes()).hexdigest() for _ in range(3)]
if "confluent_kafka" in sys.modules:
    import confluent_kafka.admin
    asked = confluent_kafka.admin.AdminClient({"bootstrap.servers": sys.argv[2]}).list_topics(timeout=120)
    assert any(name.startswith(sys.argv[1]) for name in asked.topics)
print(*steps)
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_it_reads_beside_confluent_kafka_in_either_order(environment, mix, bootstrap, python):
    folder = environment(python)
    read = {run(folder / "bin/python", "-c", READ, mix, bootstrap, *first, env=OUTSIDE).splitlines()[-1]
            for first in ((), ("confluent_kafka", "riffle"), ("riffle", "confluent_kafka"))}
    assert len(read) == 1 and len(read.pop().split()) == 3
    version = f"riffle {(ROOT / 'VERSION').read_text().strip()}\n"
    assert run(folder / "bin/riffle", "--version", env=OUTSIDE).startswith(version)
    assert run(folder / "bin/python", "-m", "riffle", "--version", env=OUTSIDE).startswith(version)
    assert "riffle-source" in run(folder / "bin/riffle-source", "--help", env=OUTSIDE)


def test_it_calls_no_librdkafka_but_its_own(environment, mix, bootstrap, tmp_path):
    """Where another one is loaded with its symbols for all, as some programs load libraries."""
    python = environment("3.11") / "bin/python"
    script = "import os, sys; sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)\nimport confluent_kafka\n" + READ
    run(python, "-c", script, mix, bootstrap, env={**OUTSIDE, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(tmp_path / "ld")})
    bound = [line for log in tmp_path.glob("ld.*") for line in log.read_text(errors="replace").splitlines()
             if re.search(r"binding file \S*/libriffle\.so\.0 ", line)]
    assert len(bound) > 100  # it was loaded, and this is what its calls bind to
    foreign = [line for line in bound if not re.search(r" to \S*/(libriffle|libc|libm|libjansson[-0-9a-f]*|ld-linux-\S+)\.so", line)]
    assert foreign == []


@pytest.fixture
def supplied(debian, wheel, tmp_path):
    """A Debian with the wheel and a vocabulary in build/vocab of root's folder, and in below what the wheel depends on."""
    for file in (wheel, ROOT / "build/vocab/cl100k_base.tiktoken"):
        debian.put(file, f"root/build/vocab/{file.name}")
    (tmp_path / "below").mkdir()
    run(f"{ROOT}/build/venv-wheel/bin/pip", "download", "-q", "--disable-pip-version-check", "--only-binary", ":all:",
        "--python-version", "3.11", "-d", tmp_path / "below", "numpy", env=OUTSIDE)
    for file in (tmp_path / "below").iterdir():
        debian.put(file, f"root/below/{file.name}")
    return debian


def test_the_tutorial_works_where_nothing_is_installed(supplied, bootstrap):
    out = supplied.run("""cd /root
! command -v gcc cc make
! ls /usr/lib/*/librdkafka* /usr/lib/*/libavro* /usr/lib/*/libjansson*
python3 -m venv v
v/bin/pip install -q --no-index --find-links below build/vocab/riffle-*.whl
export PATH=$PWD/v/bin:$PATH
""" + tutorial.after_installing() + """
python3 - <<'END'
import os, riffle
with riffle.Reader("tutorial-mix", os.environ["RIFFLE_BOOTSTRAP"], timeout=60) as reader:
    print("read by Python:", next(reader).tokens.shape)
END
riffle topics --delete --yes
""", f"RIFFLE_BOOTSTRAP={bootstrap}")
    assert "read by Python: (16, 129)" in out and "takes effect at step" in out


@pytest.mark.parametrize("debian", ["pytorch"], indirect=True)
def test_from_pip_install_to_a_batch_in_pytorch_with_a_broker_that_riffle_kafka_starts(supplied, capsys):
    """What it says to install is all that it needs. PyTorch is installed before the clock starts, because whoever trains has it."""
    for authority in pathlib.Path("/usr/local/share/ca-certificates").glob("*.crt"):  # those that this machine trusts, too
        supplied.put(authority, f"usr/local/share/ca-certificates/{authority.name}")
    out = supplied.run("""cd /root
export DEBIAN_FRONTEND=noninteractive
update-ca-certificates > /dev/null 2>&1
apt-get update -qq
! command -v java mvn kcat
python3 -m venv v
echo /opt/pytorch > v/lib/python3.11/site-packages/pytorch.pth
SECONDS=0
took() { echo "time: $SECONDS s $1"; }
v/bin/pip install -q --no-index --find-links below build/vocab/riffle-*.whl
export PATH=$PWD/v/bin:$PATH
took "wheel installed"
! said=$(riffle-kafka up 2>&1)
echo "$said"
packages=$(sed -n 's/.*sudo apt-get install //p' <<< "$said")
apt-get install -y -qq --no-install-recommends $packages > log 2>&1 || { cat log; exit 1; }
took "Java and Maven installed"
riffle-kafka fetch
took "Kafka fetched"
export RIFFLE_BOOTSTRAP=$(riffle-kafka up)
took "broker at $RIFFLE_BOOTSTRAP"
for domain in a b; do
	for n in $(seq 400); do echo '{"text": "row '$n' of '$domain', long enough for some tokens"}'; done > $domain.jsonl
done
cat > run.yml <<END
corpus: trial
tokenizer: {file: build/vocab/cl100k_base.tiktoken, pattern: cl100k, eos: "<|endoftext|>"}
sequence_length: 16
domains: {a: {train: [a.jsonl]}, b: {train: [b.jsonl]}}
mix: {name: trial-mix, seed: 1, global_batch: 4, lanes: 2, weights: {a: 1, b: 1}}
END
export RIFFLE_CONFIG=run.yml
riffle topics --create
riffle produce
riffle mix --until-step 2
python3 - <<END
import os, riffle.torch
from torch.utils.data import DataLoader
dataset = riffle.torch.Dataset("trial-mix", os.environ["RIFFLE_BOOTSTRAP"], timeout=60)
for item in DataLoader(dataset, batch_size=None):
    print("read by PyTorch:", item["input_ids"].shape, item["labels"].dtype, sorted(set(item["domains"])))
    break
END
took "a batch in PyTorch"
riffle-kafka down --yes
unset RIFFLE_BOOTSTRAP
! riffle-kafka status
find v -name jars
ls .local/share/riffle .local/share/riffle/kafka
""", *PROXIES)
    with capsys.disabled():
        print("\n" + "\n".join(re.findall("^time: .*", out, re.M)))
    assert "On Debian or Ubuntu: sudo apt-get install default-jre-headless maven\n" in out
    assert "read by PyTorch: torch.Size([4, 16]) torch.int64 ['a', 'b']" in out
    assert out.endswith("Kafka 3.9.2 is not running\n.local/share/riffle:\njars\nkafka\n\n.local/share/riffle/kafka:\nlock\n")
