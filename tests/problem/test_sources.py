"""SOURCE words and CSV files, as written by hand, by spreadsheets and by mistake."""

import csv
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.problem import BlockScale, Gemm, Shape, read_source, read_table, suite
from gemmlab.record import GemmlabError


@pytest.fixture
def table(tmp_path):
    def write(text, name="shapes.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    "words", ["4096 50257 768", ["4096", "50257", "768"], "4096x50257x768", ["4096X50257X768"], " 4096  50257 768 "]
)
def test_three_numbers(words):
    assert read_source(words) == [Shape(Gemm(4096, 50257, 768))]


def test_three_numbers_take_the_fields():
    shape = read_source("8 16 32", format="float16", layout="nt", batch=2)[0]
    assert shape.problem == Gemm(8, 16, 32, "float16", layout="nt", batch=2)


def test_a_suite_by_name():
    assert read_source("tileops") == suite("tileops")
    assert {shape.problem.a_format for shape in read_source("tileops", format="float16", layout="tt")} == {"float16"}


def test_a_file_by_name(table):
    path = table("m,n,k\n1,2,3\n")
    assert read_source(str(path), format="float16") == [Shape(Gemm(1, 2, 3, "float16"))]
    assert read_source([str(path)]) == [Shape(Gemm(1, 2, 3))]
    assert read_source(str(table("1 2 3\n", "plain")), format="float16") == [Shape(Gemm(1, 2, 3, "float16"))]
    assert read_source(str(table("1 2 3\n", "with blanks.csv"))) == [Shape(Gemm(1, 2, 3))]


@pytest.mark.parametrize(
    ("words", "text", "hint"),
    [
        ("4096 50257", "2 words", "SOURCE is M N K"),
        ("1 2 3 4", "4 words", "SOURCE is M N K"),
        ("", "0 words", "SOURCE is M N K"),
        ("-5 2 3", "m=-5 is not a positive size", "at least 1"),
        ("1 0 3", "n=0 is not a positive size", "at least 1"),
        (f"1 2 {1 << 62}", "past the largest side", "digit"),
        ("1 2 4k", "`4k` is not a whole number", "4096"),
        ("1 2 3.0", "`3.0` is not a whole number", "4096"),
        ("0x2x3", "m=0 is not a positive size", "at least 1"),
        ("lama-3-8b", "unknown source `lama-3-8b`", "llama-3-8b"),
        ("missing.csv", "cannot read missing.csv: No such file", "CSV"),
    ],
)
def test_sources_that_are_none(words, text, hint):
    with pytest.raises(GemmlabError) as error:
        read_source(words)
    assert text in error.value.text
    assert hint in error.value.hint


EXPECTED = [Shape(Gemm(4096, 50257, 768, "bfloat16", layout="nt"), 12, "head"), Shape(Gemm(1, 2, 3), 1, "")]


@pytest.mark.parametrize(
    "text",
    [
        "m,n,k,count,name,format,layout\n4096,50257,768,12,head,bfloat16,nt\n1,2,3,,,,\n",
        "m,n,k,count,name,format,layout\n4096,50257,768,12,head,bfloat16,nt\n1,2,3\n",
        "# shapes of a model\n\n M , N , K , Count , Name , A-Format , Layout \n"
        "4096, 50257 ,768,12, head, bfloat16, nt # odd n\n\n#1,1,1\n1,2,3,,,,\n",
        "name;k;n;m;format;layout;count\r\nhead;768;50257;4096;bfloat16;nt;12\r\n;3;2;1\r\n",
        "m\tn\tk\tcount\tname\tformat\tlayout\n4096\t50257\t768\t12\thead\tbfloat16\tnt\n1\t2\t3\n",
        '\ufeff"m","n","k","count","name","format","layout"\n"4096","50257","768","12","head","bfloat16","nt"\n1,2,3\n',
        "m n k count name format layout\n4096 50257 768 12 head bfloat16 nt\n1 2 3",
    ],
)
def test_ways_to_write_the_same_shapes(table, text):
    assert list(read_table(table(text))) == EXPECTED


def test_without_a_header(table):
    path = table("4096,50257,768,12,head\n1,2,3\n")
    assert list(read_table(path)) == [Shape(Gemm(4096, 50257, 768), 12, "head"), Shape(Gemm(1, 2, 3))]


def test_every_column(table):
    path = table(
        "m,n,k,batch,a_format,b_format,c_format,d_format,accumulate,layout,lda,ldb,ldc,alpha,beta,epilogue,scale,"
        "structure,a_offset_bytes,b_offset_bytes,c_offset_bytes\n"
        "8,9,12,3,float8_e4m3fn,float8_e5m2,float16,float32,float32,nt,16,13,10,0.5,-1,bias+gelu,float32/4,"
        "sparse_2_4,16,32,48\n"
    )
    problem = Gemm(
        8, 9, 12, "float8_e4m3fn", "float8_e5m2", "float16", "float32", "float32", "nt", 16, 13, 10, 3,
        alpha=0.5, beta=-1.0, epilogue="bias+gelu", scale=BlockScale("float32", 4), structure="sparse_2_4",
        a_offset_bytes=16, b_offset_bytes=32, c_offset_bytes=48,
    )  # fmt: skip
    assert next(read_table(path)).problem == problem


def test_a_column_wins_over_a_default(table):
    path = table("m,n,k,format,batch\n1,2,3,float16,\n1,2,3,,4\n")
    shapes = list(read_table(path, format="bfloat16", batch=2))
    assert [(each.problem.a_format, each.problem.batch) for each in shapes] == [("float16", 2), ("bfloat16", 4)]


def test_a_format_of_a_alone_leaves_the_others_to_format(table):
    path = table("m,n,k,format,a_format\n1,2,3,float16,float8_e4m3fn\n1,2,3,float16,\n")
    for shape, a_format in zip(read_table(path), ("float8_e4m3fn", "float16"), strict=True):
        assert (shape.problem.a_format, shape.problem.b_format) == (a_format, "float16")


def test_a_name_may_hold_a_hash(table):
    path = table("m,n,k,name,format\n1,2,3,layer#7,float16 # the last\n")
    assert list(read_table(path)) == [Shape(Gemm(1, 2, 3, "float16"), 1, "layer#7")]


def test_empty_cells_that_a_spreadsheet_leaves(table):
    path = table("m,n,k,,\n1,2,3,,\n,,,,\n4,5,6,,\n,,,,\n")
    assert [shape.problem for shape in read_table(path)] == [Gemm(1, 2, 3), Gemm(4, 5, 6)]


def test_a_line_ends_where_an_editor_ends_it(table):
    shapes = read_table(table("m,n,k,name\n1,2,3,a\u2028b\n4,5,6,c\x0bd\n7,8,9\n"))
    assert [shape.name for shape in shapes] == ["a\u2028b", "c\x0bd", ""]


def test_rows_are_yielded_before_a_later_row_fails(table):
    rows = read_table(table("m,n,k\n1,2,3\n4,5,x\n"))
    assert next(rows).problem == Gemm(1, 2, 3)
    with pytest.raises(GemmlabError, match="line 3"):
        next(rows)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no shapes"),
        ("# nothing\n\n", "has no shapes"),
        ("m,n\n1,2\n", "line 1: there is no column `k`"),
        ("m,n,k,m\n1,2,3,4\n", "line 1: column `m` stands twice"),
        ("m,n,k,colour\n1,2,3,red\n", "line 1: unknown column `colour`"),
        ("m,n,k\n1,2,3\n\n# c\n1,2,x\n", "line 5: column `k`: `x` is not a whole number"),
        ("m,n,k\n1,2,\n", "line 2: column `k` is empty"),
        ("m,n,k\n1,2\n", "line 2: column `k` is empty"),
        ("1,2\n", "line 1: column `k` is empty"),
        ("m,n,k\n1,2,3,4\n", "line 2: 4 cells, but 3 columns"),
        ("m,n,k\n0,2,3\n", "line 2: column `m`: m=0 is not a positive size"),
        (f"m,n,k\n1,2,{1 << 62}\n", "line 2: column `k`: k="),
        ("m,n,k,lda\n4,4,4,3\n", "line 2: column `lda`: lda=3 is shorter"),
        ("m,n,k,format\n4,4,4,float17\n", "line 2: column `format`: unknown format `float17`"),
        (f"m,n,k,count\n4,4,4,{10**400}\n", "line 2: column `count`: 1000"),
        ("m,n,k,name\n4,4,4," + "a" * 140_000, "line 2: field larger than field limit"),
        ("m,,k\n4,4,4\n", "line 1: a column without a title"),
        ("m,n,k,count\n4,4,4,0\n", "line 2: column `count`: 0 is not a number of times"),
        ("m,n,k,alpha\n4,4,4,one\n", "line 2: column `alpha`: `one` is not a number"),
        ("m,n,k,scale\n4,4,4,float32/x\n", "line 2: column `scale`: block scale `float32/x`"),
        ("m,n,k,layout\n4,4,4,xy\n", "line 2: unknown layout `xy`"),
    ],
)
def test_a_broken_table_names_file_line_and_column(table, text, says):
    path = table(text)
    with pytest.raises(GemmlabError) as error:
        list(read_table(path))
    assert str(path) in error.value.text
    assert says in error.value.text


def test_nearest_columns_are_named(table):
    with pytest.raises(GemmlabError) as error:
        list(read_table(table("m,n,k,layuot\n1,2,3,nn\n")))
    assert "layout" in error.value.hint


def test_a_file_that_is_no_text(table):
    with pytest.raises(GemmlabError, match="not UTF-8"):
        list(read_table(table("m,n,k,name\n1,2,3,é\n", encoding="latin-1")))


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(GemmlabError, match="cannot read"):
        list(read_table(tmp_path))


SIDE = st.integers(1, 1 << 20)


@given(st.lists(st.tuples(SIDE, SIDE, SIDE, st.integers(1, 99)), min_size=1, max_size=8), st.permutations("mnkc"))
def test_any_order_of_columns_reads_back(tmp_path_factory, rows, order):
    path = tmp_path_factory.mktemp("any") / "shapes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("count" if letter == "c" else letter for letter in order)
        writer.writerows([dict(zip("mnkc", row, strict=True))[letter] for letter in order] for row in rows)
    assert list(read_table(path)) == [Shape(Gemm(m, n, k), count) for m, n, k, count in rows]


def test_words_of_any_kind():
    for words in itertools.chain([(4, 5, 6)], [["4", 5, "6"]]):
        assert read_source(words)[0].problem == Gemm(4, 5, 6)
