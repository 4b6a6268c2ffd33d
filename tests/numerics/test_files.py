"""Matrices out of .npy and .safetensors files: every element type, and what is said of files that are none."""

import json

import ml_dtypes
import numpy as np
import pytest

from gemmlab.numerics.files import load, load_tensor, npy_bytes
from gemmlab.numerics.operands import operand
from gemmlab.record import GemmlabError

NARROW = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "float8_e8m0fnu")
TENSORS = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "I8": np.int8,
    "U8": np.uint8,
    "I32": np.int32,
}


def write(path, tensors, metadata=None, header=None):
    """A .safetensors file by its published format."""
    told, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (kind, array) in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        told[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(told).encode() if header is None else header
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


@pytest.mark.parametrize("name", NARROW)
def test_npy_of_ml_dtypes_comes_back_by_its_format(name, tmp_path):
    kind = np.dtype(getattr(ml_dtypes, name))
    array = (2.0 ** np.arange(6)).reshape(2, 3).astype(kind)
    path = tmp_path / "x.npy"
    np.save(path, array)
    for found in (load(str(path), name), load(str(path), None, (name, "float32"))):
        assert found.dtype == kind
        assert (operand(found, name).codes == array.view(f"u{kind.itemsize}")).all()


def test_npy_that_has_its_type_is_taken_as_it_is(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.save(tmp_path / "x.npy", array)
    assert (load(str(tmp_path / "x.npy"), "bfloat16") == array).all()


def test_bytes_without_a_type_need_a_format(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 2), ml_dtypes.float8_e4m3fn))
    for known, choice in ((("float8_e4m3fn", "float8_e5m2"), "float8_e4m3fn or float8_e5m2"), ((), "the format")):
        with pytest.raises(GemmlabError, match="1 bytes without a type") as raised:
            load(str(tmp_path / "x.npy"), None, known, "--b-format")
        assert raised.value.hint.startswith(f"--b-format {choice}")
    with pytest.raises(GemmlabError, match="bfloat16 has 2"):
        load(str(tmp_path / "x.npy"), "bfloat16")


@pytest.mark.parametrize("kind", TENSORS)
def test_safetensors_of_every_type(kind, tmp_path):
    given = np.array([[1, 2, 4], [8, 16, 32]]).astype(TENSORS[kind])
    path = write(tmp_path / "x.safetensors", {"first": ("F32", np.zeros(3, np.float32)), "a": (kind, given)})
    found = load(f"{path}:a")
    assert found.dtype == given.dtype
    assert (found.astype(np.float64) == given.astype(np.float64)).all()


def test_safetensors_with_metadata_and_one_tensor_need_no_name(tmp_path):
    given = np.arange(4, dtype=np.float32)
    path = write(tmp_path / "with:colon.safetensors", {"blocks.0.w": ("F32", given)}, {"format": "pt"})
    assert (load(path) == given).all()
    assert (load(f"{path}:blocks.0.w") == given).all()
    assert load_tensor(path, "").flags.writeable


def test_safetensors_that_cannot_be_read(tmp_path):
    two = {"left": ("F32", np.zeros(2, np.float32)), "right": ("F32", np.zeros(2, np.float32))}
    path = write(tmp_path / "two.safetensors", two)
    for words, said in (
        (path, "has 2 tensors: left, right"),
        (f"{path}:lefts", "unknown tensor of .*lefts"),
        (str(tmp_path / "none.safetensors:x"), "cannot read .*No such file"),
        (write(tmp_path / "odd.safetensors", {"a": ("F6_E2M3", np.zeros(2, np.int8))}), "unknown element type"),
        (write(tmp_path / "list.safetensors", {}, header=b"[1]"), "names no tensors"),
        (write(tmp_path / "text.safetensors", {}, header=b"{no"), "header is no JSON"),
    ):
        with pytest.raises(GemmlabError, match=said):
            load(words)


def entry(**changed):
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changed


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (entry(data_offsets=[0, 800]), "lies outside"),
        (entry(data_offsets=[8, 0]), "lies outside"),
        (entry(data_offsets=[0]), "lies outside"),
        (entry(shape=[-2]), "lies outside"),
        (entry(shape="2"), "lies outside"),
        ({"dtype": "F32"}, "lies outside"),
        (17, "lies outside"),
        (entry(shape=[True, 2]), "lies outside"),
        (entry(shape=[2.0]), "lies outside"),
        (entry(shape=[3]), "has 8 bytes, 3 of F32 needs 12"),
        (entry(shape=[1 << 40, 1 << 40]), "has 8 bytes"),
        (entry(shape=[0, 1 << 70], data_offsets=[0, 0]), "shape that no array has"),
        (entry(shape=[1 << 63, 0], data_offsets=[0, 0]), "shape that no array has"),
        (entry(shape=[2] + [1] * 70), "shape that no array has"),
    ],
)
def test_headers_that_contradict_the_file(told, said, tmp_path):
    header = json.dumps({"a": told}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(GemmlabError, match=said):
        load(f"{path}:a")


def announced(header):
    """A file whose header is so."""
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        b"", b"12345", (1 << 40).to_bytes(8, "little") + b"{}", b"\xff" * 64, announced(b"[" * 100_000),
        announced(b'{"a": 1' + b"0" * 5000 + b"}"), announced(b"\xff{"), announced(b"[1]"),
    ],
)  # fmt: skip
def test_files_that_are_no_safetensors(content, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(GemmlabError, match="no safetensors file"):
        load(str(path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an array",
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x01\x00\x04\x00{{{{",
        *(
            f"\x93NUMPY\x01\0v\0{{'descr': '<f2', 'fortran_order': False, 'shape': ({shape}), }}".ljust(128).encode()
            for shape in ("True, 4", "-1, 4", "4, 'x'", "99999999999, 99999", "1 << 70, 0", f"{1 << 70}, 0")
        ),
    ],
)
def test_files_that_are_no_npy(content, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(GemmlabError, match=r"no \.npy file"):
        load(str(path))


def test_pickles_are_refused_and_missing_files_said(tmp_path):
    np.save(tmp_path / "x.npy", np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(GemmlabError, match=r"no \.npy file"):
        load(str(tmp_path / "x.npy"))
    with pytest.raises(GemmlabError, match=r"cannot read .*No such file"):
        load(str(tmp_path / "none.npy"))
    with pytest.raises(GemmlabError, match=r"cannot read .*directory"):
        load(str(tmp_path))


def test_what_is_written_numpy_reads():
    import io

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (np.load(io.BytesIO(npy_bytes(array))) == array).all()
    narrow = array.astype(ml_dtypes.bfloat16)
    assert (np.load(io.BytesIO(npy_bytes(narrow))).view(ml_dtypes.bfloat16) == narrow).all()
