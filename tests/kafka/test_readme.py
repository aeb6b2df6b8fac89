"""README.md: its configuration is accepted, and its commands mix what it names. (tests/torch runs its training loop.)"""

import re

import readme


def test_the_configuration_and_commands_of_the_readme_work(tmp_path, vocab, unique, bootstrap):
    assert len(readme.block("yaml").splitlines()) == 12 and len(readme.block("python").splitlines()) == 6
    readme.prepare(tmp_path, vocab, unique, bootstrap)
    out = readme.run(tmp_path, "riffle read -c run.yml --steps 1 --timeout 120")
    lanes = re.findall(r"^0\t([0-7])\t[0-9a-f]{16}\tcode:(\d),web:(\d)$", out, re.M)
    assert [lane for lane, _, _ in lanes] == list("01234567")
    assert sum(int(code) for _, code, _ in lanes) in (19, 20)  # 0.3 of 64
    assert "takes effect at step" in out
