"""The container image, built and entered by buildah, which needs no engine. What it keeps is in build/packages."""

import json
import pathlib
import resource
import shutil
import subprocess

from machine import BUILT, OUTSIDE, ROOT, run

KEPT = BUILT / "packages"
BASE = KEPT / "base"  # debootstrap makes it once; it stands for the image that Dockerfile begins with
STORAGE = KEPT / "storage.conf"
ENV = {**OUTSIDE, "CONTAINERS_STORAGE_CONF": str(STORAGE), "BUILDAH_ISOLATION": "chroot", "ENGINE": "buildah"}
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # its default is more than every machine allows
LIMIT = ("--ulimit", f"nofile={FILES}:{FILES}")
# What Debian's slim images leave out.
SLIM = ("usr/share/man/*", "usr/share/info/*", "usr/share/locale/*", "usr/share/doc/*/[!c]*", "var/cache/apt/*", "var/lib/apt/lists/*",
        "var/log/*", "dev/*")


def buildah(*words, seconds=900):
    return run("buildah", *words, env=ENV, seconds=seconds).strip()


def make_base():
    if not (BASE / "etc/debian_version").exists():
        shutil.rmtree(BASE, ignore_errors=True)
        KEPT.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", "bookworm", BASE, seconds=1800)
    STORAGE.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{KEPT}/images/root"\nrunroot = "{KEPT}/images/run"\n')
    if not buildah("images", "--quiet", "--filter", "reference=localhost/riffle-base"):
        tar, settings = KEPT / "base.tar", KEPT / "base.dpkg"
        run("tar", "-C", BASE, *(f"--exclude=./{path}" for path in SLIM), "-cf", tar, ".")
        settings.write_text("".join(f"path-exclude /usr/share/{name}/*\n" for name in ("doc", "man", "info", "locale"))
                            + "path-include /usr/share/doc/*/copyright\n")
        made = buildah("from", "scratch").splitlines()[-1]
        buildah("add", "--quiet", made, tar, "/")
        buildah("add", "--quiet", made, settings, "/etc/dpkg/dpkg.cfg.d/slim")
        buildah("commit", "--quiet", "--rm", made, "riffle-base")
        tar.unlink()


class Image:
    """riffle:VERSION and one container of it."""

    def __init__(self):
        make_base()
        # Some seconds where nothing has changed since the last one.
        built = run(ROOT / "scripts/image", "--network", "host", *LIMIT, "--build-arg", "BASE=localhost/riffle-base", env=ENV, seconds=7200)
        self.name, self.size = built.splitlines()[-1].split(" ", 1)
        self.settings = json.loads(buildah("inspect", "--type", "image", self.name))["Docker"]["config"]
        self.base_bytes, self.bytes = (self._bytes(name) for name in ("riffle-base", self.name))
        self.container = buildah("from", *LIMIT, self.name).splitlines()[-1]

    def _bytes(self, name):
        made = buildah("from", name).splitlines()[-1]
        try:
            folder = buildah("mount", made)
            return int(run("du", "--summarize", "--bytes", "--one-file-system", folder).split()[0])
        finally:
            buildah("rm", made)

    def close(self):
        buildah("rm", self.container)

    def words(self, words, settings=(), volumes=()):
        """The command line that runs `words` in the container, as its user and in its folder."""
        env = [word for setting in settings for word in ("--env", setting)]
        mounts = [word for volume in volumes for word in ("--volume", volume)]
        return ["buildah", "run", *env, *mounts, self.container, *words]

    def run(self, *words, **more):
        return run(*self.words(words, **more), env=ENV)

    def popen(self, words, log, **more):
        return subprocess.Popen(self.words(words, **more), env=ENV, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def programs(process):
    """Pids of the riffles that a command line of Image.words() runs: buildah hands no signal on to them."""
    found, pids = [], [process.pid]
    while pids:
        folder = pathlib.Path(f"/proc/{pids.pop()}")
        try:
            pids += [int(pid) for task in (folder / "task").iterdir() for pid in (task / "children").read_text().split()]
            if (folder / "comm").read_text() == "riffle\n":
                found.append(int(folder.name))
        except OSError:  # ended meanwhile
            continue
    return found
