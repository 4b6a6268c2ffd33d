"""Layers to paste for convolutions: of each rank and direction, with their windows, as PyTorch takes them."""

import msgspec
import pytest

from gemmlab.experiment.workload import answer_of
from gemmlab.problem import Convolution
from gemmlab.workload import Call, Tensor, Workload

ORDER = "torch.channels_last"


def lines(conv, *passes, rank=4):
    """Lines of advice for passes of a layer, forward first."""
    phases = ["forward", *["backward"] * (len(passes) - 1)]
    operands = (Tensor((8,) * rank, conv.format), Tensor((8,) * rank, conv.format))
    calls = [
        Call(conv.gemm(step), "aten::convolution", 9, ("body",), phase, operands, conv, step)
        for step, phase in zip(passes, phases, strict=True)
    ]
    return [change.line for change in answer_of(Workload("x", "model", tuple(calls))).changes]


def padded(found):
    (line,) = {line for line in found if "nn.Conv" in line}
    return line.split("\n")


def test_a_signal_is_padded_as_one_and_has_no_order_of_channels():
    found = lines(Convolution(64, 81, 1, 4096, 511, (1, 3), order="nchw", format="bfloat16"), "forward", rank=3)
    assert padded(found) == [
        "nn.Conv1d(88, 512, 3)  # 81 channels, 511 filters before",
        "x = F.pad(x, (0, 0, 0, 7))  # channels of zeros",
    ]
    assert not any(ORDER in line for line in found)


def test_a_volume_has_an_order_of_channels_of_its_own():
    conv = Convolution(4, 33, 64, 64, 64, (3, 3, 3), order="nchw", format="bfloat16", depth=16)
    found = lines(conv, "forward", rank=5)
    assert padded(found)[0] == "nn.Conv3d(40, 64, (3, 3, 3))  # 33 channels, 64 filters before"
    assert any(f"{ORDER}_3d)" in line for line in found)
    assert not any(f"{ORDER})" in line for line in found)


def test_a_transposed_convolution_stays_one():
    conv = Convolution(64, 21, 224, 224, 30, (3, 3), (2, 2), (1, 1), order="nchw", format="bfloat16")
    assert padded(lines(conv, "dgrad", "forward", "wgrad")) == [
        "nn.ConvTranspose2d(32, 24, (3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))"
        "  # 30 channels, 21 filters before",
        "x = F.pad(x, (0, 0, 0, 0, 0, 2))  # channels of zeros",
    ]


@pytest.mark.parametrize("transposed", [False, True])
def test_the_line_runs_in_pytorch_and_its_digits_are_as_before(transposed):
    torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")
    conv = Convolution(4, 21, 33, 34, 30, (3, 5), (2, 1), (1, 2), (1, 2), order="nchw", format="bfloat16")
    steps = ("dgrad", "forward", "wgrad") if transposed else ("forward", "dgrad", "wgrad")
    made, pad = padded(lines(msgspec.structs.replace(conv, batch=4096), *steps))
    names = {"nn": torch.nn, "F": torch.nn.functional}
    new = eval(made, names)
    size = conv.output if transposed else (conv.height, conv.width)
    ins, outs = (30, 21) if transposed else (21, 30)
    old = type(new)(
        ins, outs, **{name: getattr(new, name) for name in ("kernel_size", "stride", "padding", "dilation")}
    )
    if transposed:
        old.output_padding = new.output_padding
    with torch.no_grad():
        for mine, theirs in zip(new.parameters(), old.parameters(), strict=True):
            mine[tuple(slice(side) for side in theirs.shape)] = theirs
        names["x"] = x = torch.randn(4, ins, *size)
        exec(pad, names)
        y = new(names["x"])[:, :outs]
        assert y.shape[2:] == ((conv.height, conv.width) if transposed else conv.output)
        assert torch.allclose(y, old(x), atol=1e-5)


def test_one_pixel_is_in_either_order_and_is_told_to_be_in_no_other():
    torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")
    from gemmlab.workload.models import trace_model

    squeeze, image = torch.nn.Conv2d(256, 1024, 1), torch.zeros(8, 256, 1, 1)  # of squeeze and excitation
    for pixels, order in ((image, "nhwc"), (image.expand(8, 256, 2, 2).contiguous(), "nchw")):
        calls = trace_model(squeeze, (pixels,)).calls
        assert {call.convolution.order for call in calls} == {order}
    wide = trace_model(torch.nn.Conv2d(256, 1024, 3, padding=1), (image,)).calls  # its filters have an order
    assert {call.convolution.order for call in wide} == {"nchw"}
