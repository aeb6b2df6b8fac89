"""make dist: one commit, one tarball."""

import hashlib
import tarfile

from machine import ROOT, run


def test_two_clones_make_the_same_bytes(tmp_path):
    version, made = (ROOT / "VERSION").read_text().strip(), []
    for name, mask in (("a", "022"), ("another", "077")):
        run("git", "clone", "-q", ROOT, tmp_path / name)
        run("bash", "-c", f"umask {mask}; make -s -C {tmp_path / name} dist")
        made.append(tmp_path / name / f"build/dist/riffle-{version}.tar.gz")
    assert len({hashlib.sha256(file.read_bytes()).hexdigest() for file in made}) == 1
    with tarfile.open(made[0]) as tar:
        names = tar.getnames()
        assert {member.uid for member in tar} == {0}
    assert all(name.split("/")[0] == f"riffle-{version}" for name in names)
    tracked = set(run("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    assert {name.partition("/")[2] for name in names} >= tracked
