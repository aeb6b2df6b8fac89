"""Every module of the package is imported: without the packages that it may lack, and with stubs in their place."""

import json
import re
import subprocess
import sys

import pytest

from conftest import ROOT

# What modules of the package may need besides numpy.
OPTIONAL = ("torch", "transformers", "trl", "datasets", "grain", "jax", "equinox", "haliax", "optax", "levanter", "lightning",
            "pytorch_lightning", "megatron", "nanotron", "olmo_core", "torchtitan", "tyro", "verl", "matplotlib", "pyarrow", "fsspec",
            "braceexpand", "zstandard", "confluent_kafka")
SOURCES = sorted((ROOT / "python/riffle").rglob("*.py"))
MODULES = [".".join(path.relative_to(ROOT / "python").with_suffix("").parts) for path in SOURCES if path.stem != "__main__"]
MODULES = [name.removesuffix(".__init__") for name in MODULES] + ["riffle_source", "riffle_program"]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))

PROGRAM = """\
import importlib.machinery, json, sys

OPTIONAL, stubs, modules = json.loads(sys.argv[1])


class Anything(type):
    # A class with whatever is asked of it, whose instances are decorators that change nothing.
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda self, it: it,
                                   "__init_subclass__": classmethod(lambda *_, **__: None),
                                   "__class_getitem__": classmethod(lambda cls, _: cls)})


class Stub(type(sys)):
    __path__ = []
    __getattr__ = Anything.__getattr__


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            return importlib.machinery.ModuleSpec(name, self)

    create_module = staticmethod(lambda spec: Stub(spec.name))
    exec_module = staticmethod(lambda module: None)


if stubs:
    sys.meta_path.insert(0, Finder())
else:
    sys.modules.update(dict.fromkeys(OPTIONAL))
said = {}
for name in modules:
    try:
        importlib.import_module(name)
        said[name] = ""
    except BaseException as why:
        said[name] = f"{type(why).__name__}: {why}"
print(json.dumps(said))
"""


def import_all(package, modules, stubs):
    """{module: what its import raised}, in a Python without any of OPTIONAL, or with a stub in place of each."""
    path = f"{ROOT}/python:{ROOT}/examples"
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps([OPTIONAL, stubs, modules])],
                          env={**package.env, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_module_that_lacks_a_package_prints_the_command_that_installs_it(package):
    said = import_all(package, MODULES, stubs=False)
    failed = {name: why for name, why in said.items() if why}
    assert {name for name in failed if not name.startswith("riffle.integrations.")} == {"riffle.torch"}
    assert {name for name in MODULES if name.startswith("riffle.integrations.")} == set(failed) - {"riffle.torch"}
    for name, why in failed.items():
        assert re.fullmatch(r"ModuleNotFoundError: riffle\.[\w.]+ needs the Python package [\w.]+: pip install [\w -]+", why), name
        assert why.split()[1] == name
    assert failed["riffle.torch"].endswith("riffle.torch needs the Python package torch: pip install torch")
    assert failed["riffle.integrations.megatron_bridge"].endswith("pip install megatron-bridge")


@pytest.mark.parametrize("stubs", [False, True])
def test_examples_are_imported_without_optional_packages(package, stubs):
    said = import_all(package, EXAMPLES, stubs)
    assert {name: why for name, why in said.items() if why} == ({} if stubs else {
        "backup": "SystemExit: backup.py needs confluent-kafka: pip install confluent-kafka"})


def test_every_module_is_imported_where_its_packages_are(package):
    assert {name: why for name, why in import_all(package, MODULES, stubs=True).items() if why} == {}


def test_a_part_of_another_version_of_a_package_is_no_package_that_is_missing(package, monkeypatch):
    optional = __import__(package.riffle.__name__ + "._optional", fromlist=["needs"])
    with pytest.raises(ModuleNotFoundError, match="^No module named 'json.none'$"):
        with optional.needs("x"):
            import json.none  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="^x needs the Python package json.none: pip install y$"):
        with optional.needs("x", "y"):
            import json.none  # noqa: F401
