"""Bad usage and bad input: status 2, one clear message, nothing on standard output, no file."""

from pathlib import Path

import pytest

FILES = {
    "empty.csv": "",
    "header.csv": "m,n,k\n",
    "short.csv": "m,n,k\n8,8\n",
    "zero.csv": "m,n,k\n8,8,8\n8,0,8\n",
    "column.csv": "m,n,kk\n8,8,8\n",
    "late.csv": "m,n,k,format\n8,8,8,int8\n8,8,8,float32\n",
    "two.csv": "m,n,k,name\n8,8,8,first\n16,16,16,second\n",
    "binary.csv": b"\xff\xfe\x00m",
    "word.toml": 'base = "h100-sxm"\nsm_count = "many"\n',
    "syntax.toml": "base = \n",
    "field.toml": 'base = "h100-sxm"\nsm_cuont = 3\n',
    "endless.csv": "m,n,k,name\n8,8,8,a\n8,8,8," + "a" * 140_000 + "\n",
    "counts.csv": "m,n,k,count\n8,8,8,1\n8,8,8," + "9" * 400 + "\n",
    "untitled.csv": "m,,k\n8,8,8\n",
    "blank.csv": ",,,\n,,,\n",
    "half.toml": 'base = "h100-sxm"\nsm_count = 0.5\n',
    "chip.toml": 'base = "h1oo-sxm"\n',
}

#: the words of a command, what its error names, and what its hint does
CASES = [
    ("explain", "there is no SOURCE", "M N K"),
    ("explain 0 4 4", "m=0", "at least 1"),
    ("explain 4 -5 4", "n=-5", "at least 1"),
    ("explain 4 4 4611686018427387904", "k=4611686018427387904", "digit"),
    ("explain 4.5 4 4", "`4.5` is not a whole number", "4096"),
    ("explain 1e3 4 4", "`1e3`", "4096"),
    ("explain a b c", "`a`", "4096"),
    ("explain 1 2", "2 words", "SOURCE is"),
    ("explain 1 2 3 4", "4 words", "SOURCE is"),
    ("explain 8x8", "`8x8`", "SOURCE is"),
    ("explain 8 8 8 --format bfloat61", "`bfloat61`", "bfloat16"),
    ("explain 8 8 8 --b-format flaot32", "`flaot32`", "float32"),
    ("explain 8 8 8 --chip h200-smx", "`h200-smx`", "h200-sxm"),
    ("explain 8 8 8 --kernel tnsor", "`tnsor`", "tensor"),
    ("explain 8 8 8 --kernel mine.py:fast", "`mine.py:fast`", "naive, tiled"),
    ("explain 8 8 8 --tile foo", "`foo`", "128x256x64"),
    ("explain 8 8 8 --tile 16x-16", "`-16`", "128x256x64"),
    ("explain 8 8 8 --tile 4096x4096", "262144 threads", "smaller tile"),
    ("explain 4096 4096 4096 --format float16 --tile 256x256x64 --stages 8", "KiB", "--stages"),
    ("explain 8 8 8 --lda 4", "lda=4", "at least 8"),
    ("explain 8 9 8 --ldc 8", "ldc=8", "at least 9"),
    ("explain 8 8 8 --lda x", "--lda: `x`", "4096"),
    ("explain 8 8 8 --lda 2.5", "--lda: `2.5`", "4096"),
    ("explain 8 8 8 --batch 0", "batch=0", "at least 1"),
    ("explain 8 8 8 --a-offset-bytes -1", "a_offset_bytes=-1", "2^20"),
    ("explain 8 8 8 --beta nan", "beta=nan", ""),
    ("explain 8 8 8 --alpha two", "--alpha: `two`", ""),
    ("explain 8 8 8 --layout nx", "`nx`", "nn, nt"),
    ("explain 8 8 8 --epilogue bias+rleu", "`rleu`", "relu"),
    ("explain 8 8 8 --structure bandd", "`bandd`", "banded"),
    ("explain 8 8 9 --structure triangular", "8x9", "equal"),
    ("explain 8 8 8 --lower-band 2", "lower_band=2", "banded"),
    ("explain 8 8 8 --scale float8/x", "`float8/x`", "float8_e8m0fnu/32"),
    ("explain 8 8 8 --stages", "--stages has no value", "--stages N"),
    ("explain 8 8 8 --stages 0", "stages=0", ""),
    ("explain 8 8 8 --stages --json", "--stages has no value, but `--json`", "--stages N"),
    ("explain 8 8 8 --raster z", "`z`", "along n"),
    ("explain 8 8 8 --cluster 2", "--cluster: `2`", "2x1"),
    ("explain 8 8 8 --cluster 2xb", "`b`", ""),
    ("explain 8 8 8 --registers 300", "300 registers", "255"),
    ("explain 8 8 8 --cluster 16x16 --format float16", "cluster of 256 programs", "--cluster 2x1"),
    ("explain 8 8 8 --split-k 4611686018427387904", "split_k=4611686018427387904", "digit"),
    ("explain 8 8 8 --group-m 4611686018427387904", "group_m=4611686018427387904", "digit"),
    ("explain 8 8 8 --measured 5e-324s", "`5e-324s`", "208us"),
    ("explain 8 8 8 --measured 1e300s", "`1e300s`", "208us"),
    ("explain 8 8 8 --measured 208", "--measured: `208`", "208us"),
    ("explain 8 8 8 --measured -1us", "`-1us`", "208us"),
    ("explain 8 8 8 --measured 0us", "`0us`", "208us"),
    ("explain 8 8 8 --measured 1..2us", "`1..2`", ""),
    ("explain late.csv --chip tpu-v1 --json", "shape 2 of 2, 8 8 8: unknown format on tpu-v1 `float32`", "int8"),
    ("explain late.csv --chip tpu-v1 --csv -", "shape 2 of 2", ""),
    ("explain two.csv --measured 3us", "2 shapes", "the one"),
    ("explain 8 8 8 --groups 8x8x8", "SOURCE and --groups", "one of them"),
    ("explain --groups 8x8", "`8x8`", "128x4096x7168"),
    ("explain --groups 8x8x0", "groups[0].k=0", "at least 1"),
    ("explain --suite=", "unknown suite ``", ""),
    ("explain --suite wavess", "`wavess`", "waves"),
    ("explain wavess", "`wavess`", "waves"),
    ("explain --suite waves --lda 8", "--lda", "--format"),
    ("explain --suite waves --batch 8", "--batch", "--format"),
    ("explain --suite vllm --model lama", "`lama`", ""),
    ("explain llama-3-8b --sequence 0", "--sequence: 0", "at least 1"),
    ("explain llama-3-8b --context -1", "--context: -1", "at least 1"),
    ("explain 8 8 8 --suite waves", "SOURCE and --suite", "one of them"),
    ("explain 8 8 8 --tokens 3", "--tokens", "--suite"),
    ("explain nope.csv", "nope.csv", "CSV"),
    ("explain empty.csv", "empty.csv has no shapes", "m,n,k"),
    ("explain header.csv", "header.csv has no shapes", "m,n,k"),
    ("explain short.csv", "line 2", "m, n and k"),
    ("explain zero.csv", "line 3: column `n`", "at least 1"),
    ("explain column.csv", "`kk`", ""),
    ("explain endless.csv", "endless.csv, line 3: field larger", "one line"),
    ("explain counts.csv", "counts.csv, line 3: column `count`", "2^40"),
    ("explain untitled.csv", "untitled.csv, line 1: a column without a title", "m, n, k"),
    ("explain blank.csv", "blank.csv has no shapes", "m,n,k"),
    ("explain binary.csv", "binary.csv", "UTF-8"),
    ("explain two.csv --tile 4096x4096", "shape 1 of 2 `first`", "smaller tile"),
    ("explain 8 8 8 --chip word.toml", "line 2, field `sm_count`", "chips"),
    ("explain 8 8 8 --chip half.toml", "line 2, field `sm_count`: 0.5 is not a whole number", "chips"),
    ("explain 8 8 8 --chip syntax.toml", "line 1", ""),
    ("explain 8 8 8 --chip field.toml", "sm_cuont", "chips"),
    ("explain 8 8 8 --chip chip.toml", "`h1oo-sxm`", "h100-sxm"),
    ("explain 8 8 8 --chip nope.toml", "nope.toml", "TOML"),
    ("explain 8 8 8 --html nowhere/page.html", "nowhere", "create"),
    ("explain 8 8 8 --plot .", "folder", "name a file"),
    ("explain 8 8 8 --plot a.png", "`a.png`", "a.svg"),
    ("explain 8 8 8 --html a\0b", "a?b", "another"),
    ("explain 8 8 8 --html -", "`-`", "--csv"),
    ("explain 8 8 8 --html same --plot same", "same file", "own"),
    ("explain 8 8 8 --html fine.html --plot nowhere/a.svg", "nowhere", "create"),
    ("explain two.csv --plot a.svg", "2 shapes", "--html"),
    ("explain 8 8 8 --json --csv -", "--json and --csv -", "--csv FILE"),
    ("explain 8 8 8 --csv --json", "--csv has no value, but `--json`", "--csv FILE"),
    ("explain 8 8 8 --width 5", "--width: 5", "40 to 100"),
    ("explain 8 8 8 --json=maybe", "`maybe`", "--json"),
    ("explain 8 8 8 --formt float16", "`--formt`", "--format"),
    ("explain 8 8 8 --zzz", "`--zzz`", "--help"),
    ("explain 8 8 8 -x", "`-x`", "--help"),
    ("explain 8 8 8 --format float16 --format float32", "--format is given twice", "once"),
    ("explan 8 8 8", "verb `explan`", "explain"),
    ("--nope", "flag `--nope`", ""),
    ("chips nope", "`nope`", "h100-sxm"),
    ("chips nope.toml", "nope.toml", "TOML"),
    ("chips --check word.toml", "line 2, field `sm_count`", ""),
    ("chips --checkk", "`--checkk`", "--check"),
    ("chips --width 3", "--width: 3", "40 to 100"),
]


@pytest.mark.parametrize(("words", "named", "hinted"), CASES, ids=[case[0] for case in CASES])
def test_is_refused(run, words, named, hinted):
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run(*words.split())
    assert result.status == 2
    assert result.out == ""
    assert sorted(path.name for path in Path().iterdir()) == sorted(FILES)
    error, _, hint = result.err.rstrip("\n").partition("\n\n")
    assert error.startswith("error: ")
    assert "\n" not in error
    assert named in error
    assert "Traceback" not in result.err
    assert not hinted or (hint.startswith("hint: ") and hinted in hint)


def test_an_unwritable_old_file_stays_as_it_is(run):
    Path("old.html").write_text("old")
    assert run("explain", 8, 8, 8, "--kernel", "nope", "--html", "old.html").status == 2
    assert Path("old.html").read_text() == "old"


def test_an_endless_word_is_cut(run):
    result = run("explain", 8, 8, 8, "--chip", "h" * 100_000)
    assert result.status == 2
    assert len(result.err) < 500


def test_control_characters_of_a_name_do_not_reach_the_terminal(run):
    result = run("explain", 8, 8, 8, "--chip", "h100\x1b[2J\r\nerror: other")
    assert result.status == 2
    assert "\x1b" not in result.err
    assert "\r" not in result.err
