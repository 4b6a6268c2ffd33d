"""Arrays as the codes of a format: ml_dtypes arrays, plain numpy ones whose values fit, or raw bytes with a name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.record import GemmlabError

Codes = npt.NDArray[Any]  #: unsigned integers, one an element


class Operand(NamedTuple):
    """One matrix as a unit reads it."""

    codes: Codes  #: unsigned, of the smallest integer type that holds a code
    format: str  #: by its ml_dtypes name

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """What the codes stand for, exactly."""
        return formats.decode_array(self.codes, self.format)


def operand(array: Any, format: str | None = None, what: str = "A", tfloat32: str = "rz") -> Operand:
    """The codes of an array of any shape.

    An ml_dtypes or numpy array whose type is the format (or with no format named) is taken as it is. Unsigned integers
    of the code's size with a float format are raw codes. Any other array of numbers is taken where the format holds
    every value exactly; float32 with `tfloat32` is converted by the rounding `tfloat32` first. Raises GemmlabError
    naming the first element outside the format.
    """
    source = np.asarray(array)
    source = source.astype(source.dtype.newbyteorder("="), copy=False)  # its codes are read as this machine's
    own = source.dtype.name
    name = own if format is None else format
    form = formats.get(name)
    if own == name and form.kind == "int":
        codes = np.ascontiguousarray(source).view(code_type(form))
        if form.storage_bits % 8:
            codes = codes & codes.dtype.type((1 << form.storage_bits) - 1)  # ml_dtypes reads none of those above
        return Operand(codes, name)
    if own == name or (source.dtype == code_type(form) and form.kind == "float"):
        raw = np.ascontiguousarray(source).view(code_type(form))
        if raw.size and int(raw.max()) >= 1 << form.storage_bits:
            raise outside(what, raw, raw >= 1 << form.storage_bits, name)
        return Operand(raw, name)
    if name == "tfloat32" and source.dtype == np.float32:
        return Operand(formats.float32_to_tfloat32(source, tfloat32).view(np.uint32), name)
    codes = formats.encode_array(source, name)
    back = formats.decode_array(codes, name)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        given = source.astype(np.float64)
    wrong = (back != given) & ~(np.isnan(back) & np.isnan(given))
    if wrong.any():
        raise outside(what, source, wrong, name)
    return Operand(codes, name)


def outside(what: str, array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], name: str) -> GemmlabError:
    """The error for an element that the format does not hold."""
    place = tuple(int(at) for at in np.argwhere(wrong)[0]) if array.ndim else ()
    held = f"{what}[{', '.join(map(str, place))}] = {array[place]!s}" if place else f"{what} = {array!s}"
    count = int(wrong.sum())
    more = f" ({count} such elements)" if count > 1 else ""
    return GemmlabError(f"{held} is no value of {name}{more}", f"round first: gemmlab.formats.round_array(x, '{name}')")


def typed(codes: Codes, name: str) -> npt.NDArray[Any]:
    """Codes as an array of their own type: numpy's or ml_dtypes'; tfloat32 as float32."""
    return np.ascontiguousarray(codes).view(formats.dtype_of(name))
