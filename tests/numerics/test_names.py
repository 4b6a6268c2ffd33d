"""The package's public names beside its modules."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from gemmlab import numerics


def test_no_module_takes_the_place_of_a_public_name():
    modules = [each.name for each in iter_modules(numerics.__path__)]
    assert "probing" in modules
    assert not set(modules) & set(numerics.__all__)
    for name in modules:
        import_module(f"gemmlab.numerics.{name}")
    assert not any(isinstance(getattr(numerics, name), ModuleType) for name in numerics.__all__)
