"""Recurrent layers: a product of all steps' inputs and one of the state at every step, each layer and direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.dense import flattened
from gemmlab.workload.operators.matrix import Matrix, matrix, multiply
from gemmlab.workload.operators.product import Products, UnreadableError

MOST_STEPS = 1 << 20


class Layer(NamedTuple):
    """One layer in one direction: its weights, stored (gates, in) and (gates, state), and a projection of the state."""

    of_input: Tensor
    of_state: Tensor
    projection: Tensor | None


def recurrent(given: Arguments) -> Products:
    """lstm, gru, rnn_tanh and rnn_relu, padded or packed, and cuDNN's and MIOpen's own operators, both ways."""
    image, weights = given.tensor("input", "data"), given.tensors("weight", "params")
    layers, directions = given.whole("num_layers"), 2 if given.flag("bidirectional") else 1
    if not layers or layers < 1 or not weights or len(weights) % (layers * directions):
        raise UnreadableError(f"{len(weights)} weights of {layers or 'an unknown number of'} layers, each way")
    each = len(weights) // (layers * directions)
    steps = steps_of(given, image)
    found: Products = ()
    for index in range(layers * directions):
        layer = layer_of(weights[index * each : (index + 1) * each])
        width = layer.of_input.shape[1]
        held = image if index < directions else Tensor((sum(steps), width), image.format)
        found += layer_products(given, layer, held, steps)
    return found


def one_layer(given: Arguments) -> Products:
    """One operator of oneDNN's, for one layer in one direction, whose first two weights are its matrices."""
    backward = "grad_output" in given.parameters
    weights = [given.tensor(f"weight{number}") for number in ((1, 2) if backward else (0, 1))]
    image = given.tensor("input")
    return layer_products(given, layer_of(weights), image, steps_of(given, image))


def cell(given: Arguments) -> Products:
    """One step of one layer."""
    states = given.tensors("hx") if isinstance(given.value("hx"), list | tuple) else (given.tensor("hx"),)
    image, weights = given.tensor("input"), layer_of([given.tensor("w_ih"), given.tensor("w_hh")])
    if not image.shape or not states or not states[0].shape:
        raise UnreadableError("the input or the state has no dimensions")
    state = states[0]
    return multiply(given, flattened(image), applied(weights.of_input)) + multiply(
        given, flattened(state), applied(weights.of_state)
    )


def layer_of(weights: Sequence[Tensor]) -> Layer:
    """A layer's matrices, its biases, which are vectors, left out."""
    matrices = [each for each in weights if len(each.shape) == 2]
    shapes = [list(each.shape) for each in weights]
    if len(matrices) not in (2, 3) or matrices[0].shape[0] != matrices[1].shape[0]:
        raise UnreadableError(f"weights of shapes {shapes} are no layer's")
    return Layer(matrices[0], matrices[1], matrices[2] if len(matrices) == 3 else None)


def steps_of(given: Arguments, image: Tensor) -> tuple[int, ...]:
    """The batch's rows at each step; raises UnreadableError where they are the values of a tensor."""
    if len(image.shape) not in (2, 3):
        raise UnreadableError(f"an input of shape {list(image.shape)}")
    told = given.value("batch_sizes")
    if isinstance(told, list | tuple) and told and all(type(each) is int and each >= 0 for each in told):
        return tuple(told)
    if isinstance(told, Tensor):
        raise UnreadableError(
            "the rows at each step are the values of `batch_sizes`: "
            f"{list(told.shape)} steps and {list(image.shape)[:1]} rows in all"
        )
    first, second = image.shape[0], image.shape[1] if len(image.shape) == 3 else 1
    if max(first, second) > MOST_STEPS:
        raise UnreadableError(f"an input of shape {list(image.shape)} has more steps than {MOST_STEPS}")
    return (first,) * second if given.flag("batch_first") and len(image.shape) == 3 else (second,) * first


def layer_products(given: Arguments, layer: Layer, image: Tensor, steps: tuple[int, ...]) -> Products:
    """The products of a layer in one direction: forward, or of its gradients where one is given.

    Forward, the inputs of all steps are one product, the state of each step another, as the next needs it. Backward,
    so are the gradients of inputs and states; those of the weights are one product over all steps each.
    """
    name, tf32 = image.format, given.settings.convolution_tf32  # cuDNN's setting holds for its recurrent layers too
    inputs, gates = flattened(image), layer.of_input.shape[0]
    if inputs.columns != layer.of_input.shape[1]:
        raise UnreadableError(f"an input of width {inputs.columns} and a weight of {list(layer.of_input.shape)}")
    stages = [(layer.of_state, layer.of_state.shape[1], gates)]
    if layer.projection is not None:
        stages.append((layer.projection, layer.projection.shape[1], layer.projection.shape[0]))
    if "grad_output" not in given.parameters:
        forward = [(width, applied(weight)) for weight, width, _ in stages]
        return multiply(given, inputs, applied(layer.of_input), tf32=tf32) + at_each(given, forward, steps, name, tf32)
    mask = given.value("output_mask")
    weights_too = not isinstance(mask, list | tuple) or len(mask) < 4 or bool(mask[3])
    backward = [(height, matrix(weight, (0,), (1,))) for weight, _, height in reversed(stages)]
    found = at_each(given, backward, steps[::-1], name, tf32)
    found += multiply(given, made(inputs.rows, gates, name), matrix(layer.of_input, (0,), (1,)), tf32=tf32)
    if weights_too:
        found += multiply(given, made(inputs.rows, gates, name).transposed, inputs, tf32=tf32, rule=name)
        for _, width, height in stages:
            left = made(inputs.rows, height, name).transposed
            found += multiply(given, left, made(inputs.rows, width, name), tf32=tf32, rule=name)
    return found


def at_each(
    given: Arguments, stages: list[tuple[int, Matrix]], steps: tuple[int, ...], name: str, tf32: bool
) -> Products:
    """The products of every step, one after another: its rows, of each stage's width, times the stage's weight."""
    of_rows = {
        rows: [
            product
            for width, weight in stages
            for product in multiply(given, made(rows, width, name), weight, tf32=tf32, rule=name)
        ]
        for rows in set(steps)
    }
    return tuple(product for rows in steps for product in of_rows[rows])


def applied(weight: Tensor) -> Matrix:
    """A weight stored (out, in) as the right operand."""
    return matrix(weight, (0,), (1,)).transposed


def made(rows: int, columns: int, name: str) -> Matrix:
    """A matrix that only the operator itself sees."""
    return matrix(Tensor((rows, columns), name), (0,), (1,))
