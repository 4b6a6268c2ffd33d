"""The units that are known, by name, out of the TOML files beside this one."""

from gemmlab.numerics.units.registry import names, unit, units

__all__ = ["names", "unit", "units"]
