"""Recurrent layers as cuDNN runs them: one operator for all steps and layers, which PyTorch elsewhere takes apart."""

from __future__ import annotations

from typing import Any

#: cuDNN's number for each function of PyTorch
MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}


def recur(name: str, own: Any, *args: Any) -> Any:
    """The result of torch.lstm and its kin; `own` is PyTorch's function, which runs where cuDNN is switched off.

    The arguments have one of two forms: (input, hx, params, ...) or, packed, (data, batch_sizes, hx, params, ...).
    """
    import torch

    if not torch.backends.cudnn.enabled:
        return own(*args)
    packed = isinstance(args[1], torch.Tensor) and isinstance(args[3], list | tuple)
    first, rest = args[0], list(args[2:] if packed else args[1:])
    sizes = args[1].tolist() if packed else []
    hidden, weights, biased, layers, dropout, train, both = rest[:7]
    batch_first = bool(rest[7]) if len(rest) > 7 else False
    state, cell = (hidden[0], hidden[1]) if name == "lstm" else (hidden, None)
    width, projected = state.shape[2], 0
    if cell is not None and cell.shape[2] != state.shape[2]:
        width, projected = cell.shape[2], state.shape[2]
    result = torch.ops.aten._cudnn_rnn(
        *(first, list(weights), 4 if biased else 2, None, state, cell, MODES[name], width, projected, layers),
        *(batch_first, dropout, train, both, sizes, None),
    )
    return (result[0], result[1], result[2]) if name == "lstm" else (result[0], result[1])


def forward_shapes(
    input: Any, weight: Any, _stride: int, _buffer: Any, hx: Any, cx: Any, mode: int, width: int, projected: int,
    layers: int, batch_first: bool, _dropout: float, train: bool, both: bool, sizes: Any, _state: Any = None,
) -> Any:  # fmt: skip
    """Results of _cudnn_rnn: outputs, both last states, what the backward pass keeps, the weights in one piece."""
    directions, out = (2 if both else 1), projected or width
    sides = input.shape[:-1]
    output = input.new_empty((*sides, out * directions))
    if batch_first and not sizes:  # cuDNN has time first; PyTorch turns its result
        output = input.new_empty((sides[1], sides[0], out * directions)).transpose(0, 1)
    last = hx.new_empty(hx.shape)
    cell = cx.new_empty(cx.shape) if cx is not None else input.new_empty(0)
    kept = input.new_empty(0, dtype=input.new_empty(0).byte().dtype)
    return output, last, cell, kept, input.new_empty(sum(each.numel() for each in weight))


def backward_shapes(input: Any, weight: Any, _stride: int, _buffer: Any, hx: Any, cx: Any, *_rest: Any) -> Any:
    """Results of _cudnn_rnn_backward: gradients of the input, of both states and of every weight."""
    cell = cx.new_empty(cx.shape) if cx is not None else input.new_empty(0)
    return input.new_empty(input.shape), hx.new_empty(hx.shape), cell, [each.new_empty(each.shape) for each in weight]


def packed(input: Any, lengths: Any, batch_first: bool) -> Any:
    """Results of _pack_padded_sequence: all steps of all sequences in one axis, and how many run at each step."""
    import torch

    counts = [int((lengths > step).sum()) for step in range(int(lengths.max()))]
    sizes = torch.tensor(counts, dtype=torch.int64)
    sizes.on_processor = True
    return input.new_empty((sum(counts), *input.shape[2:])), sizes


def unpacked(gradient: Any, size: Any, _sizes: Any, batch_first: bool) -> Any:
    """The result of _pack_padded_sequence_backward."""
    return gradient.new_empty(tuple(size))
