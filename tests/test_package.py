"""The package's top level: its names, loaded when used."""

import doctest
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import gemmlab

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there():
    for name in gemmlab.__all__:
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
