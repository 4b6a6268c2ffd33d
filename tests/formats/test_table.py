import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from formats.codecs import FLOATS, INTEGERS, PEERS
from gemmlab.formats import Format, bits_of, get, names, storage_bytes
from gemmlab.record import GemmlabError


def test_every_type_of_ml_dtypes_is_here_but_its_complex_pairs():
    types = {
        name for name, value in vars(ml_dtypes).items() if isinstance(value, type) and name not in ("finfo", "iinfo")
    }
    assert len(types) >= 15
    assert {name for name in types if "complex" not in name} <= set(names())
    assert {"float64", "float32", "float16", "tfloat32", "int8", "uint8", "int32"} <= set(names())


@pytest.mark.parametrize("name", [name for name in FLOATS if name in PEERS])
def test_widths_and_limits_are_those_of_finfo(name):
    form, info = get(name), ml_dtypes.finfo(PEERS[name])
    assert form.mantissa_bits == info.nmant
    assert form.exponent_bits == info.nexp
    assert form.storage_bits == form.bits == info.bits
    assert form.min_exponent == np.log2(float(info.smallest_normal))


@pytest.mark.parametrize("name", [name for name in INTEGERS if name in PEERS])
def test_integers_have_the_limits_of_iinfo(name):
    form, info = get(name), ml_dtypes.iinfo(PEERS[name])
    assert form.max_magnitude == info.max
    assert form.signed == (info.min < 0)


def test_tfloat32_is_the_float32_word_without_its_last_13_bits():
    form, wide = get("tfloat32"), get("float32")
    assert (form.bits, form.storage_bits, form.pad_bits) == (19, 32, 13)
    assert (form.exponent_bits, form.bias, form.precision) == (wide.exponent_bits, wide.bias, 11)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("tfloat32", 32), ("float32", 32), ("bfloat16", 16), ("float8_e4m3fn", 8),
     ("float6_e3m2fn", 6), ("float4_e2m1fn", 4), ("int8", 8), ("int4", 4), ("uint2", 2), ("float64", 64)],
)  # fmt: skip
def test_bits_of_one_stored_element(name, bits):
    assert bits_of(name) == bits


@pytest.mark.parametrize(
    ("name", "elements", "size"),
    [("float6_e2m3fn", 1, 1), ("float6_e2m3fn", 4, 3), ("float4_e2m1fn", 3, 2), ("tfloat32", 5, 20), ("int1", 9, 2),
     ("bfloat16", 1 << 40, 1 << 41), ("float64", 0, 0)],
)  # fmt: skip
def test_storage_is_packed_and_ends_with_a_whole_byte(name, elements, size):
    assert storage_bytes(name, elements) == size


def test_an_unknown_name_gets_the_nearest_ones():
    for call in (get, bits_of, lambda name: storage_bytes(name, 1)):
        with pytest.raises(GemmlabError, match="unknown format `float8_e4m3fm`") as caught:
            call("float8_e4m3fm")
        assert "float8_e4m3fn" in caught.value.hint
    with pytest.raises(GemmlabError, match="at least 0"):
        storage_bytes("int8", -1)


def test_a_format_is_a_frozen_value():
    form = get("bfloat16")
    with pytest.raises(AttributeError):
        form.bias = 1
    assert isinstance(form, Format)
    assert hash(form) == hash(get("bfloat16"))


def test_the_package_loads_no_numpy_until_an_array_is_asked_for():
    program = (
        "import sys, gemmlab.formats as f; f.encode(1.5, 'float8_e4m3fn'); f.bits_of('int4')\n"
        "assert not {'numpy', 'ml_dtypes', 'fractions'} & set(sys.modules), sorted(sys.modules)\n"
        "f.round_array; assert 'numpy' in sys.modules and 'ml_dtypes' not in sys.modules"
    )
    path = ":".join(sys.path)
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": path}, timeout=60)


def test_all_that_is_named_is_there():
    import gemmlab.formats as package

    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'encode_arrays'"):
        package.encode_arrays  # noqa: B018
