"""`gemmlab numerics units` and `gemm`: what is told, in files and on the terminal, and what is refused."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gemmlab import formats
from gemmlab.numerics import Schedule, gemm, mma, unit, unit_names
from gemmlab.record import Record
from gemmlab.report.canvas import cells

FP8 = "hopper.wgmma.float8_e4m3fn"


def numbers(shape, seed, name):
    return formats.round_array(np.random.RandomState(seed).standard_normal(shape), name)


@pytest.fixture
def operands(run):
    """a.npy and b.npy, 5 x 70 and 70 x 3, float8_e4m3fn as numpy keeps it; their values."""
    found = []
    for name, shape, seed in (("a", (5, 70), 0), ("b", (70, 3), 1)):
        array = numbers(shape, seed, "float8_e4m3fn").astype(ml_dtypes.float8_e4m3fn)
        np.save(f"{name}.npy", array)
        found.append(array)
    return found


def test_help_of_every_part(run):
    told = run("numerics", "--help")
    assert told.status == 0
    for part in ("units", "gemm", "truncate", "reveal", "verify", "sass"):
        assert f"  {part} " in told.out
        inner = run("numerics", part, "--help")
        assert (inner.status, inner.err) == (0, "")
        assert f"gemmlab numerics {part}" in inner.out
        assert all(cells(line) <= 80 for line in inner.out.splitlines())
    assert run("numerics").out == told.out


def test_the_table_has_every_unit_in_eighty_columns(run):
    told = run("numerics", "units").out.splitlines()
    assert all(cells(line) <= 80 for line in told)
    rows = {line.split()[0]: line.split()[1:] for line in told if line and line[0] != " "}
    assert set(unit_names()) <= set(rows)
    assert rows[FP8] == ["32", "13", "e8m13", "rz", "early", "silicon"]
    assert rows["ampere.mma.float16"][:5] == ["8", "24", "e8m23", "rz", "early"]
    assert rows["amx.tdp.bfloat16"][1] == "exact"


def test_one_unit_with_its_sources(run):
    told = run("numerics", "units", FP8).out
    for said in ("e8m13: 22 bits", "32 products", "13 fraction bits below", "QGMMA", "2512.07004", "H100, H200"):
        assert said in " ".join(told.split())


def test_the_beginning_of_names_is_a_table_of_those(run):
    told = run("numerics", "units", "cdna3.mfma").out
    assert "cdna3.mfma.float16 " in told
    assert "hopper" not in told


@pytest.mark.parametrize("name", ["hopper.mma.float8_e4m3fn.float16", "cdna3.mfma.float16", "blackwell.tcgen05.nvfp4"])
def test_a_unit_as_a_file_is_the_same_unit(run, name):
    told = run("numerics", "units", name, "--toml").out
    Path("mine.toml").write_text(told)
    mine, given = unit("mine.toml"), unit(name)
    assert {field: getattr(mine, field) for field in mine.__struct_fields__ if field not in ("silicon", "assumed")} == {
        field: getattr(given, field) for field in given.__struct_fields__ if field not in ("silicon", "assumed")
    }
    assert mine.silicon == ""


def test_a_name_of_control_characters_stays_in_its_line(run):
    fields = 'a_formats = ["float16"]\nb_formats = ["float16"]\nalign_bits = 20\n'
    Path("mine.toml").write_text('name = "a\\u001b[2J\\nterms = 3 # \\u007f"\n' + fields)
    for words in (("mine.toml",), ("mine.toml", "--toml")):
        told = run("numerics", "units", *words)
        assert told.status == 0
        assert "\x1b" not in told.out
    Path("again.toml").write_text(told.out)
    assert unit("again.toml") == unit("mine.toml")


def test_units_for_programs(run):
    lines = run("numerics", "units", "hopper.wgmma", "--json").out.splitlines()
    told = {json.loads(line)["numerics"]["unit"]: json.loads(line) for line in lines}
    assert told[FP8]["numerics"]["width_bits"] == 22
    assert told[FP8]["fields"]["terms"] == 32
    assert Record.from_json(lines[0]).numerics.unit.startswith("hopper.wgmma")


def test_gemm_of_files_gives_the_bits_of_the_python_interface(run, operands):
    done = run("numerics", "gemm", "a.npy", "b.npy", "--a-format", "float8_e4m3fn", "--unit", FP8, "--out", "d.npy")
    assert done.status == 0
    assert (np.load("d.npy") == gemm(*operands, unit=FP8)).all()
    assert "Relative error" in done.out
    assert all(cells(line) <= 80 for line in done.out.splitlines())


def test_gemm_follows_its_schedule(run, operands):
    np.save("c.npy", numbers((5, 3), 4, "float32").astype(np.float32))
    flags = ("--promote", 32, "--split-k", 2, "--reduce", "float16", "--alpha", 2, "--beta", 0.5, "--c", "c.npy")
    done = run(
        "numerics", "gemm", "a.npy", "b.npy", "--unit", FP8, "--a-format", "float8_e4m3fn", *flags,
        "--d-format", "bfloat16",
        "--out", "d.npy", "--json", "--trace", "4,2",
    )  # fmt: skip
    due = gemm(
        *operands, np.load("c.npy"), unit=FP8, alpha=2, beta=0.5, d_format="bfloat16",
        schedule=Schedule(promote=32, split_k=2, reduce="float16"),
    )  # fmt: skip
    assert (np.load("d.npy").view(ml_dtypes.bfloat16) == due).all()
    assert "holds bfloat16 as bytes" in done.err
    (record,) = done.records
    assert int(record.numerics.trace.code, 16) == due.view(np.uint16)[4, 2]
    assert [step.kind for step in record.numerics.trace.steps][-2:] == ["alpha and beta", "D"]
    assert record.problem.d_format == "bfloat16"
    assert record.numerics.schedule.promote == 32


def test_c_in_the_accumulator(run, operands):
    c = numbers((5, 3), 4, "float32").astype(np.float32)
    np.save("c.npy", c)
    run(
        "numerics", "gemm", "a.npy", "b.npy", "--unit", FP8, "--a-format", "float8_e4m3fn", "--c", "c.npy",
        "--in-accumulator", "--out", "d.npy",
    )  # fmt: skip
    assert (np.load("d.npy") == mma(FP8, *operands, c)).all()
    assert (np.load("d.npy") != gemm(*operands, c, unit=FP8, beta=1)).any()


def test_stored_transposed_and_rounded_on_request(run):
    a, b = np.random.RandomState(0).standard_normal((2, 4, 33)).astype(np.float32)
    np.save("a.npy", a)
    np.save("w.npy", b)
    words = ("numerics", "gemm", "a.npy", "w.npy", "--layout", "nt", "--unit", "ampere.mma.bfloat16", "--out", "d.npy")
    refused = run(*words)
    assert refused.status == 2
    assert "is no value of bfloat16" in refused.err
    assert run(*words, "--round").status == 0
    left, right = (x.astype(ml_dtypes.bfloat16) for x in (a, b.T))
    assert (np.load("d.npy") == gemm(left, right, unit="ampere.mma.bfloat16")).all()


def test_all_ones_stick_at_16384(run):
    words = ("numerics", "gemm", 1, 1, 32768, "--unit", FP8, "--content", "ones", "--trace", "0,0")
    (record,) = run(*words, "--json").records
    assert record.numerics.trace.result == "16384"
    assert record.numerics.trace.exact == "32768"
    assert record.numerics.error.relative_frobenius == 0.5
    assert record.numerics.error.bias == -0.5


def test_tfloat32_rounds_away_as_pytorch_53635_met_it(run):
    np.save("a.npy", np.array([[1024.5]], np.float32))
    np.save("b.npy", np.array([[1.0]], np.float32))
    found = {}
    for rounding in ("rz", "rna", "rne"):
        run(
            "numerics",
            "gemm",
            "a.npy",
            "b.npy",
            "--unit",
            "ampere.mma.tfloat32",
            "--tfloat32",
            rounding,
            "--out",
            "d.npy",
        )
        found[rounding] = float(np.load("d.npy")[0, 0])
        run(
            "numerics", "gemm", "a.npy", "b.npy", "--unit", "ampere.mma.tfloat32", "--tfloat32", rounding,
            "--in-accumulator", "--out", "d.npy",
        )  # fmt: skip
        assert float(np.load("d.npy")[0, 0]) == found[rounding]
    assert found == {"rz": 1024, "rna": 1025, "rne": 1024}


@pytest.mark.parametrize(
    "name", ["blackwell.tcgen05.nvfp4", "rtx-blackwell.mma.mxfp8_e4m3fn", "amx.tdp.int8", "cpu.fma.float64"]
)
def test_random_operands_of_any_unit(run, name):
    if name not in unit_names():
        pytest.skip(f"there is no unit {name}")
    words = ("numerics", "gemm", 3, 4, 70, "--unit", name, "--json")
    first, again, other = (run(*words, *more).records[0].numerics for more in ((), (), ("--seed", 5)))
    assert first.error.correctly_rounded == again.error.correctly_rounded
    assert first.error.relative_frobenius == again.error.relative_frobenius
    assert first.error.not_finite == 0
    assert first.error.relative_frobenius < 1e-6
    assert other.error.total == 12


def test_a_prediction_beside_the_emulation(run):
    (record,) = run(
        "numerics", "gemm", 8, 8, 2048, "--unit", FP8, "--content", "uniform", "--tolerance", "1e-3", "--json"
    ).records
    told = record.numerics.prediction
    assert told.relative_error == pytest.approx(record.numerics.error.relative_frobenius, rel=0.3)
    assert told.relative_bias == pytest.approx(record.numerics.error.bias, rel=0.3)
    again = run(
        "numerics", "gemm", 8, 8, 2048, "--unit", FP8, "--content", "uniform", "--promote", told.promote, "--json"
    ).records[0]
    assert again.numerics.error.relative_frobenius < 1.3e-3 < record.numerics.error.relative_frobenius


def test_pages_and_pictures_are_written_whole(run):
    done = run(
        "numerics",
        "gemm",
        2,
        2,
        40,
        "--unit",
        FP8,
        "--trace",
        "1,1",
        "--predict",
        "--plot",
        "t.svg",
        "--html",
        "t.html",
    )
    assert done.status == 0
    assert done.err.splitlines() == ["wrote t.svg", "wrote t.html"]
    assert Path("t.svg").read_text().startswith("<svg")
    page = Path("t.html").read_text()
    for said in ("Beside float64", "Predicted", "One output term by term", "numerics.error.relative_frobenius"):
        assert said in page


def test_nan_and_infinity_in_files(run):
    a = np.ones((2, 20), np.float16)
    a[0, 3], a[1, 5] = np.nan, np.inf
    np.save("a.npy", a)
    np.save("b.npy", np.ones((20, 1), np.float16))
    done = run("numerics", "gemm", "a.npy", "b.npy", "--unit", "hopper.mma.float16", "--out", "d.npy", "--json")
    assert np.isnan(np.load("d.npy")[0, 0])
    assert np.load("d.npy")[1, 0] == np.inf
    told = done.records[0].numerics.error
    assert (told.not_finite, told.relative_frobenius, told.correctly_rounded) == (2, None, 2)


BAD = {
    "no c": (["f.npy", "g.npy", "--unit", "ampere.mma.float16", "--c", "v.npy", "--round"], "C has shape (70,)"),
    "empty": (["e.npy", "g.npy", "--unit", "ampere.mma.float16"], "nothing to multiply"),
    "nothing": ([], "no operands are named"),
    "one file": (["a.npy", "--unit", FP8], "1 operands are named"),
    "no unit": (["a.npy", "b.npy"], "there is no --unit"),
    "unknown unit": (
        ["a.npy", "b.npy", "--unit", "hoper.wgmma.float8_e4m3fn"],
        "unknown unit `hoper.wgmma.float8_e4m3fn`",
    ),
    "unknown format": (["a.npy", "b.npy", "--unit", FP8, "--a-format", "float16"], "unknown format of A on"),
    "unknown d": (["a.npy", "b.npy", "--unit", FP8, "--d-format", "floaty"], "unknown format `floaty`"),
    "no file": (["none.npy", "b.npy", "--unit", FP8], "cannot read `none.npy`: No such file"),
    "no npy": (["text.npy", "b.npy", "--unit", FP8], "`text.npy` is no .npy file"),
    "untyped": (["a.npy", "b.npy", "--unit", FP8], "holds elements of 1 bytes without a type"),
    "shapes": (["a.npy", "a.npy", "--unit", FP8, "--a-format", "float8_e4m3fn"], "do not multiply"),
    "dimensions": (["v.npy", "g.npy", "--unit", FP8], "A is 70 in `v.npy`"),
    "outside": (["f.npy", "g.npy", "--unit", FP8], "A[1, 2] = 1000.3 is no value of float8_e4m3fn"),
    "promotion": (["3", "4", "64", "--unit", FP8, "--promote", "40"], "promote = 40 is no multiple"),
    "tolerance": (["3", "4", "64", "--unit", FP8, "--tolerance", "0"], "a tolerance of 0"),
    "endless tolerance": (["3", "4", "64", "--unit", FP8, "--tolerance", "inf"], "a tolerance of inf"),
    "format of no c": (["3", "4", "64", "--unit", FP8, "--c-format", "float16"], "--c-format is of C, and there is no"),
    "memory": (["1000000", "1000000", "64", "--unit", FP8], "of memory are free"),
    "place": (["3", "4", "64", "--unit", FP8, "--trace", "3,0"], "none at 3,0"),
    "no place": (["3", "4", "64", "--unit", FP8, "--trace", "3"], "--trace: `3` is no output"),
    "plot": (["3", "4", "64", "--unit", FP8, "--plot", "x.svg"], "--plot draws a trace, and there is none"),
    "png": (["3", "4", "64", "--unit", FP8, "--trace", "0,0", "--plot", "x.png"], "the pictures are SVG"),
    "folder": (["3", "4", "64", "--unit", FP8, "--out", "none/d.npy"], "does not exist"),
    "same": (["3", "4", "64", "--unit", FP8, "--html", "d.npy", "--out", "./d.npy"], "would write the same file"),
    "out": (["3", "4", "64", "--unit", FP8, "--out", "d.txt"], "D is written as .npy"),
    "beta": (["3", "4", "64", "--unit", FP8, "--beta", "2"], "beta is 2 and there is no C"),
    "content": (["a.npy", "b.npy", "--unit", FP8, "--content", "ones"], "--content is of random operands"),
    "contents": (["3", "4", "64", "--unit", FP8, "--content", "one"], "unknown content `one`"),
    "seed": (["3", "4", "64", "--unit", FP8, "--seed", "-1"], "-1 is no seed"),
    "rounding": (["3", "4", "64", "--unit", FP8, "--round"], "--round is of operands in files"),
    "layout": (["a.npy", "b.npy", "--unit", FP8, "--layout", "nm"], "unknown layout `nm`"),
    "size": (["3", "0", "64", "--unit", FP8], "0 is not a size"),
    "huge": (["3", "4", "99999999", "--unit", FP8], "more than can be emulated"),
    "both": (
        ["3", "4", "64", "--unit", FP8, "--in-accumulator", "--promote", "64"],
        "--promote is of what comes after",
    ),
    "scales": (
        ["f.npy", "g.npy", "--unit", "blackwell.tcgen05.nvfp4", "--b-scales", "none.npy"],
        "cannot read `none.npy`",
    ),
    "integers": (["3", "4", "64", "--unit", "amx.tdp.int8", "--promote", "64"], "adds int32 exactly"),
    "file": (["3", "4", "64", "--unit", "text.toml"], "text.toml is no unit"),
    "flag": (["3", "4", "64", "--unit", FP8, "--promot", "64"], "unknown flag `--promot`"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_said_and_nothing_is_written(run, operands, name, tmp_path):
    words, said = BAD[name]
    np.save("v.npy", np.zeros(70, np.float32))
    given = np.zeros((2, 70), np.float32)
    given[1, 2] = 1000.3
    np.save("f.npy", given)
    np.save("g.npy", np.zeros((70, 3), np.float32))
    np.save("e.npy", np.zeros((0, 70), np.float32))
    (tmp_path / "text.npy").write_text("text")
    (tmp_path / "text.toml").write_text("terms = 3\n")
    before = sorted(tmp_path.iterdir())
    done = run("numerics", "gemm", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert said in done.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nits",), "unknown part of numerics `nits`"),
        (("--units",), "unknown flag `--units`"),
        (("units", "hoper"), "unknown unit `hoper`"),
        (("units", "--toml"), "--toml writes one unit"),
        (("units", "hopper.mma.float16", "--toml", "--json"), "--toml and --json would both print"),
        (("units", "none.toml"), "cannot read none.toml"),
    ],
)
def test_other_bad_words(run, words, said):
    done = run("numerics", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
