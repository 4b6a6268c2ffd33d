"""Models by their names: files, packages, arguments, inputs, and what is said where a file fails."""

import contextlib
import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models import load_model, parse_inputs, trace_model  # noqa: E402

FILE = """
import torch
from torch import nn
from helping import WIDTH

class Net(nn.Module):
    def __init__(self, width=WIDTH, deep=False):
        super().__init__()
        print("building")
        self.layer = nn.Linear(8, width)
    def forward(self, x, mask=None):
        print("running")
        return self.layer(x)

def make(width=16):
    return Net(width), torch.zeros(3, 8)

def named():
    return Net(), {"x": torch.zeros(2, 8)}

ready = Net(4)
pair = (Net(4), (torch.zeros(5, 8),), {"mask": None})
number = 3
huge = nn.Linear(1 << 20, 1 << 17) # 512 GiB

def inputs():
    return "7x8"
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "helping.py").write_text("WIDTH = 8\n")
    (tmp_path / "nets.py").write_text(FILE)
    yield str(tmp_path / "nets.py")
    sys.modules.pop("helping", None)


def first(loaded):
    """Sizes of the first multiplication."""
    problem = trace_model(loaded.model, loaded.inputs, loaded.keywords).calls[0].problem
    return problem.m, problem.n, problem.k


def test_classes_functions_modules_and_pairs(file, capsys):
    assert first(load_model(f"{file}:Net", "4x8")) == (4, 8, 8)
    assert first(load_model(f"{file}:Net", "4x8", arguments={"width": "32", "deep": "true"})) == (4, 32, 8)
    assert first(load_model(f"{file}:make")) == (3, 16, 8)
    assert first(load_model(f"{file}:make", "9x8", arguments={"width": "24"})) == (9, 24, 8)
    assert first(load_model(f"{file}:named")) == (2, 8, 8)
    assert first(load_model(f"{file}:ready", "x=2x3x8 mask=none")) == (6, 4, 8)
    assert first(load_model(f"{file}:pair")) == (5, 4, 8)
    assert first(load_model(f"{file}:ready")) == (7, 4, 8)  # the file's own inputs
    out, err = capsys.readouterr()
    assert out == ""
    assert "building" in err
    assert "running" in err


def test_files_of_a_package_import_their_neighbours(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "parts.py").write_text("WIDTH = 24\n")
    path = tmp_path / "lib" / "net.py"
    path.write_text("from torch import nn\nfrom .parts import WIDTH\nnet = nn.Linear(8, WIDTH)\n")
    assert first(load_model(f"{path}:net", "4x8")) == (4, 24, 8)


def test_modules_below_the_current_folder_and_classes_in_classes(tmp_path, monkeypatch):
    (tmp_path / "lib_below").mkdir()
    text = "from torch import nn\nclass Nets:\n    class Wide(nn.Linear):\n        pass\n    net = nn.Linear(8, 24)\n"
    (tmp_path / "lib_below" / "net.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    assert first(load_model("lib_below.net:Nets.net", "4x8")) == (4, 24, 8)
    assert first(load_model("lib_below/net.py:Nets.net", "4x8")) == (4, 24, 8)
    with pytest.raises(GemmlabError, match=r"unknown model in lib_below.net `Nets.nett`"):
        load_model("lib_below.net:Nets.nett", "4x8")
    with pytest.raises(GemmlabError, match=r"or lib_above/net.py:NAME"):
        load_model("lib_above.net:net", "4x8")


@pytest.mark.parametrize("region", ['torch.autocast("cuda", dtype=torch.bfloat16)', "torch.cuda.amp.autocast()"])
@pytest.mark.filterwarnings("ignore:.*torch.cuda.amp.autocast:FutureWarning")
def test_a_forward_that_is_decorated_runs_under_autocast_as_on_a_gpu(tmp_path, region):
    path = tmp_path / "net.py"
    text = f"import torch\nclass Net(torch.nn.Linear):\n    @{region}\n    def forward(self, x):\n"
    path.write_text(f"{text}        return super().forward(x)\n")
    loaded = load_model(f"{path}:Net", "4x8", arguments={"in_features": "8", "out_features": "8"})
    formats = {call.problem.a_format for call in trace_model(loaded.model, loaded.inputs).calls}
    assert formats == {"bfloat16" if "bfloat16" in region else "float16"}


def test_weights_take_no_memory(file):
    assert first(load_model(f"{file}:huge", "1x1048576")) == (1, 131072, 1048576)


def test_weights_of_another_format(file):
    loaded = load_model(f"{file}:Net", "4x8:bfloat16", dtype="bfloat16")
    assert trace_model(loaded.model, loaded.inputs, loaded.keywords).calls[0].problem.a_format == "bfloat16"
    with pytest.raises(GemmlabError, match="unknown format of weights `int8`"):
        load_model(f"{file}:Net", "4x8", dtype="int8")


def test_packages():
    loaded = load_model("torch.nn:Linear", "4x8", arguments={"in_features": "8", "out_features": "2"})
    assert first(loaded) == (4, 2, 8)
    assert loaded.source == "torch.nn:Linear"


@pytest.mark.parametrize(
    ("word", "arguments", "words"),
    [
        ("{file}:Nett", {}, "unknown model in {file} `Nett`\n\nhint: the nearest: Net"),
        ("{file}", {}, "`{file}` names no model"),
        ("{file}:number", {}, "is of type int, and no torch.nn.Module"),
        ("{file}:Net", {"depth": "3"}, "--arguments NAME=VALUE; it takes: width, deep"),
        ("{file}:ready", {"width": "3"}, "it takes no arguments"),
        ("missing.py:Net", {}, "there is no file `missing.py`"),
        ("no.such.package:Net", {}, "there is no package `no.such.package` here"),
        ("torch.nn:Linear", {"in_features": "8", "out_features": "2"}, "nothing says what `torch.nn:Linear` is called"),
    ],
)
def test_what_is_wrong_is_told(file, word, arguments, words):
    with pytest.raises(GemmlabError) as caught:
        load_model(word.format(file=file), arguments=arguments)
    assert words.format(file=file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\n\n1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
        ("import torch\ndef f(:\n", "line 2: SyntaxError"),
        ("import nothing_of_that_name\n", "hint: pip install nothing_of_that_name"),
        ("import sys\nsys.exit(3)\n", 'under `if __name__ == "__main__":`'),
        (
            "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        raise KeyError('x')\n",
            "line 4: KeyError",
        ),
        ("from gone import Net\n", "ModuleNotFoundError: No module named 'gone'"),
    ],
)
def test_files_that_fail_are_told_with_their_line(tmp_path, text, words):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(GemmlabError) as caught:
        load_model(f"{path}:Net", "1x8")
    assert words in str(caught.value)


def test_stopping_stops(tmp_path):
    path = tmp_path / "stop.py"
    path.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_model(f"{path}:Net", "1x8")


def test_a_configuration_is_for_models_that_have_one(file):
    with pytest.raises(GemmlabError, match="takes no configuration"):
        load_model(f"{file}:Net", "1x8", config="config.json")


def test_inputs_as_text():
    positional, named = parse_inputs(
        "1x3x4x4 8:int64 ids=2x8:int64 mask=2x8:bool=1 scale=float16 use_cache=false x=none"
    )
    assert [tuple(each.shape) for each in positional] == [(1, 3, 4, 4), (8,)]
    assert positional[1].dtype == torch.int64
    assert positional[0].is_meta
    assert (tuple(named["ids"].shape), named["ids"].is_meta) == ((2, 8), True)
    assert named["mask"].all()
    assert named["mask"].dtype == torch.bool
    assert (named["scale"].dtype, named["scale"].dim()) == (torch.float16, 0)
    assert (named["use_cache"], named["x"]) == (False, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "inputs name no tensor"),
        ("8x", "input `8x` is no shape"),
        ("8x8:int65", "unknown format of an input `int65`"),
        ("a=8 8", "stands after named ones"),
        ("a=8 a=9", "inputs name `a` twice"),
        ("8:int8=900", "900 is no number of int8"),
        ("8:int8=x", "x is no number of int8"),
        ("8x-1", "is no shape"),
        ("99999999999999999999x2", "more elements than PyTorch can count"),
        ("4294967296x4294967296", "more elements than PyTorch can count"),
        ("shape=(8,8)", "is no shape"),
    ],
)
def test_inputs_that_are_none(text, words):
    with pytest.raises(GemmlabError) as caught:
        parse_inputs(text)
    assert words in str(caught.value)


def test_a_filled_input_that_is_large_takes_no_memory():
    [tensor], _ = parse_inputs("1048576x1048576:bool=1")
    assert tensor.is_meta
    assert tuple(tensor.shape) == (1 << 20, 1 << 20)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.sampled_from(["float32", "int64", "bool", "bfloat16"]))
def test_every_shape_and_format_comes_back(shape, form):
    [tensor], named = parse_inputs(f"{'x'.join(map(str, shape))}:{form}")
    assert (tuple(tensor.shape), str(tensor.dtype), named) == (tuple(shape), f"torch.{form}", {})


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(GemmlabError):
        parse_inputs(text)


def test_pytorch_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GemmlabError, match="pip install torch"):
        load_model("nets.py:Net", "1x8")


def test_pytorch_is_loaded_where_a_model_is_traced_and_not_before():
    code = "import sys, gemmlab.workload.models; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


transformers = pytest.importorskip("transformers", reason="transformers is missing: pip install transformers")
TINY = {
    **{"hidden_size": "32", "intermediate_size": "64", "num_hidden_layers": "2", "num_attention_heads": "4"},
    "vocab_size": "101",
}


def test_transformers_by_class_and_settings():
    loaded = load_model("transformers:BertForMaskedLM", "input_ids=2x16:int64 labels=2x16:int64", arguments=TINY)
    workload = trace_model(loaded.model, loaded.inputs, loaded.keywords, autocast="bfloat16")
    assert dict(workload.settings)["loss"] == "the output's `loss`"
    [head] = [call for call in workload.calls if call.problem.n == 101 and call.phase == "forward"]
    assert head.operands[1].parameter == "bert.embeddings.word_embeddings.weight = cls.predictions.decoder.weight"
    assert {call.fused.partition(" with ")[0] for call in workload.calls} == {"", "flash attention"}


def test_transformers_by_a_file_of_settings(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 101}))
    loaded = load_model(
        "transformers:GPT2LMHeadModel", "input_ids=2x16:int64", config=str(path), arguments={"vocab_size": "104"}
    )
    workload = trace_model(loaded.model, loaded.inputs, loaded.keywords)
    assert [call.count for call in workload.calls if call.problem.n == 104] == [1]


def test_settings_that_there_are_none_of():
    with pytest.raises(GemmlabError, match="unknown setting of transformers:BertModel `hiden_size`") as caught:
        load_model("transformers:BertModel", "1x8:int64", arguments={"hiden_size": "3"})
    assert "hidden_size" in str(caught.value)
    with pytest.raises(GemmlabError, match="there is no file `nothing"):
        load_model("transformers:BertModel", "1x8:int64", config="nothing.json")


def test_settings_that_do_not_go_together():
    with pytest.raises(GemmlabError, match="transformers:BertModel fails: ValueError: The hidden size") as caught:
        load_model("transformers:BertModel", "1x8:int64", arguments={**TINY, "num_attention_heads": "5"})
    assert "settings that go together" in str(caught.value)


def test_masks_whose_elements_decide():
    ids = "input_ids=2x16:int64 attention_mask=2x16:int64"
    loaded = load_model("transformers:LlamaForCausalLM", f"{ids}=1", arguments=TINY)
    assert trace_model(loaded.model, loaded.inputs, loaded.keywords).calls


@pytest.mark.parametrize("name", ["MixtralForCausalLM", "Qwen3MoeForCausalLM"])
def test_mixtures_of_experts_are_routed_evenly_and_say_so(name):
    if not hasattr(torch.nn.functional, "grouped_mm"):
        pytest.skip("transformers loops over experts by data where PyTorch has no grouped_mm")
    settings = {**TINY, "num_key_value_heads": "2", "head_dim": "8", "num_experts_per_tok": "2"}
    experts = (
        {"num_local_experts": "4"}
        if name.startswith("Mixtral")
        else {"num_experts": "4", "moe_intermediate_size": "64"}
    )
    loaded = load_model(f"transformers:{name}", "input_ids=2x16:int64", arguments={**settings, **experts})
    workload = trace_model(loaded.model, loaded.inputs, loaded.keywords)
    grouped = [call for call in workload.calls if call.operator == "aten::_grouped_mm"]
    assert {call.phase for call in grouped} == {"forward", "backward"}
    assert grouped[0].problem.groups == ((16, 128, 32),) * 4  # 32 tokens, each to two of four experts
    assert grouped[0].operands[1].parameter == "model.layers.*.mlp.experts.gate_up_proj"
    assert "even routing" in workload.notes[0]
    forward = sum(call.flop for call in grouped if call.phase == "forward")
    assert sum(call.flop for call in grouped) == 3 * forward
