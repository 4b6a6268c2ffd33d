"""The package's top level: its names, loaded when used."""

import doctest
import inspect
import pkgutil
import tomllib
import typing
from importlib import import_module, util
from pathlib import Path

import msgspec
import pytest

import gemmlab
from gemmlab.record import GemmlabError

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there():
    for name in gemmlab.__all__:
        if gemmlab.HOMES[name] == "gemmlab.peak" and not util.find_spec("torch"):
            continue  # they take torch's tensors: what is said without it has a test of its own
        assert getattr(gemmlab, name) is getattr(import_module(gemmlab.HOMES[name]), name)
        assert name in dir(gemmlab)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="emulat3"):
        _ = gemmlab.emulat3


def test_its_docstring_is_true():
    assert doctest.testmod(gemmlab).failed == 0


def test_explain_from_python():
    record = gemmlab.explain(gemmlab.Gemm(256, 256, 256, "float16"), "a100-pcie-80gb", "tensor", advice=False)
    assert isinstance(record, gemmlab.Record)
    assert record.chip.name == "a100-pcie-80gb"


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_knows_the_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def structs():
    """Every Struct of the package that is defined in a module that loads here."""
    for found in pkgutil.walk_packages(gemmlab.__path__, "gemmlab."):
        if any(part in found.name for part in ("__main__", "backends", ".kernels.ladder.")):
            continue
        try:
            module = import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            continue  # it works on torch's own objects, and nobody without torch reads its help
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == found.name:
                yield kind


def test_every_struct_has_a_signature_and_types():
    """`help` and `msgspec.json.schema` resolve annotations: a name that is imported for type checkers alone is none."""
    found = list(structs())
    assert len(found) > 60
    for kind in found:
        inspect.signature(kind)
        typing.get_type_hints(kind)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gemmlab.explain(300, 200, 500), "problem is 300, of type int, and no Gemm"),
        (lambda: gemmlab.explain(gemmlab.Gemm(8, 8, 8), 5), "chip is 5"),
        (lambda: gemmlab.explain(gemmlab.Gemm(8, 8, 8), "h100-sxm", 5), "kernel is 5"),
        (lambda: gemmlab.simulate_array(300), "problem is 300"),
        (lambda: gemmlab.simulate_array(gemmlab.Gemm(8, 8, 8), 5), "array is 5"),
        (lambda: gemmlab.emulate(300, 1, 1), "300"),
    ],
)
def test_a_wrong_type_is_told_as_an_error_with_a_remedy(call, named):
    with pytest.raises(GemmlabError, match=named) as raised:
        call()
    assert raised.value.hint


def test_dir_lists_public_names_alone():
    assert [name for name in dir(gemmlab) if not name.startswith("__")] == sorted(gemmlab.__all__)
