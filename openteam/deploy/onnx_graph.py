"""A graph in the words of ONNX. Every operation of ours is one or a few of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from openteam.deploy.graph import Equation, Graph
from openteam.deploy.pure_step import Port

OPSET, IR_VERSION = 18, 9  # the oldest that have what is needed: runtimes since 2023 can read it
LIKEWISE = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "neg": "Neg", "abs": "Abs",
    "sign": "Sign", "floor": "Floor", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "tanh": "Tanh",
    "logistic": "Sigmoid", "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
    "and": "And", "or": "Or", "not": "Not", "dot_general": "MatMul",
}  # fmt: skip
"""Operations that have another name."""
Names = list[str]
Write = Callable[["Writer", Equation, Names, Names], None]


class Writer:
    """Collects nodes. Values keep their numbers as names; steps in between get names of their own."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.nodes: list[Any] = []
        self.constants = {str(place): array for place, array in graph.constants.items()}

    def shape(self, place: int) -> tuple[int, ...]:
        return self.graph.shapes[place][0]

    def dtype(self, place: int) -> str:
        return self.graph.shapes[place][1]

    def node(self, kind: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, **attributes: Any) -> str:
        """One more node; the name of its first output."""
        from onnx import helper

        outputs = [f"between {len(self.nodes)}"] if outputs is None else outputs
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, numbers: Any, dtype: str = "int64") -> str:
        """The name of an array that is part of the model."""
        array = np.asarray(numbers, dtype)
        name = f"constant {array.dtype} {array.shape} {array.tolist()}"
        self.constants[name] = array
        return name

    def write(self, equation: Equation) -> None:
        """The nodes of an equation."""
        inputs, outputs = [str(place) for place in equation.inputs], [str(place) for place in equation.outputs]
        if equation.name in LIKEWISE:
            self.node(LIKEWISE[equation.name], inputs, outputs)
        else:
            SPECIAL[equation.name](self, equation, inputs, outputs)


def different(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """x != y."""
    writer.node("Not", [writer.node("Equal", inputs)], outputs)


def remainder(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """What is left of x divided by y, with the sign of x."""
    writer.node("Mod", inputs, outputs, fmod=1)


def select(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """One of two, entry by entry."""
    which, no, yes = inputs
    writer.node("Where", [which, yes, no], outputs)


def broadcast(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Copies along new axes."""
    shape, spread = equation.options["shape"], [1] * len(equation.options["shape"])
    for axis, place in enumerate(equation.options["broadcast_dimensions"]):
        spread[place] = writer.shape(equation.inputs[0])[axis]
    if spread == shape:
        writer.node("Reshape", [inputs[0], writer.constant(shape)], outputs)
        return
    reshaped = writer.node("Reshape", [inputs[0], writer.constant(spread)])
    writer.node("Expand", [reshaped, writer.constant(shape)], outputs)


def reshape(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """The same numbers in another shape."""
    shape = equation.options["new_sizes"]
    if shape:
        writer.node("Reshape", [inputs[0], writer.constant(shape)], outputs)
    else:  # shape inference of runtimes knows only this way to a single number
        writer.node("Squeeze", [inputs[0], writer.constant(range(len(writer.shape(equation.inputs[0]))))], outputs)


def transpose(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Axes in another order."""
    writer.node("Transpose", inputs, outputs, perm=equation.options["permutation"])


def concatenate(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """One array after another."""
    writer.node("Concat", inputs, outputs, axis=equation.options["dimension"])


def cut(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """A piece of an array."""
    options, axes = equation.options, range(len(equation.options["start_indices"]))
    strides = options["strides"] or [1] * len(axes)
    bounds = (options["start_indices"], options["limit_indices"], list(axes), strides)
    writer.node("Slice", [inputs[0], *map(writer.constant, bounds)], outputs)


def convert(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Another type."""
    writer.node("Cast", inputs, outputs, to=tensor_type(equation.options["new_dtype"]))


def largest(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """The place of the largest number."""
    number = inputs[0]
    if writer.dtype(equation.inputs[0]) == "bool":
        number = writer.node("Cast", inputs, to=tensor_type("int32"))
    place = writer.node("ArgMax", [number], axis=equation.options["axes"][0], keepdims=0)
    writer.node("Cast", [place], outputs, to=tensor_type("int32"))


def cumulate(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Sums of all before, oneself included."""
    axis = writer.constant(equation.options["axis"])
    writer.node("CumSum", [inputs[0], axis], outputs, reverse=int(equation.options["reverse"]))


def sort(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Arrays sorted by the first; equal entries stay in their order."""
    axis = equation.options["dimension"]
    size = writer.constant([writer.shape(equation.inputs[0])[axis]])
    places = f"places {outputs[0]}"
    writer.node("TopK", [inputs[0], size], [outputs[0], places], axis=axis, largest=0, sorted=1)
    for given, sorted_too in zip(inputs[1:], outputs[1:], strict=True):
        writer.node("GatherElements", [given, places], [sorted_too], axis=axis)


def gather(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """Single entries of a vector."""
    writer.node("Gather", [inputs[0], writer.node("Reshape", [inputs[1], writer.constant([-1])])], outputs, axis=0)


def scatter(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
    """A vector with other entries at some places."""
    places = writer.node("Reshape", [inputs[1], writer.constant([-1])])
    writer.node("ScatterElements", [inputs[0], places, inputs[2]], outputs, axis=0)


def reduction(kind: str) -> Write:
    """A sum, maximum or minimum over axes."""

    def reduce(writer: Writer, equation: Equation, inputs: Names, outputs: Names) -> None:
        writer.node(kind, [inputs[0], writer.constant(equation.options["axes"])], outputs, keepdims=0)

    return reduce


SPECIAL: dict[str, Write] = {
    "ne": different, "rem": remainder, "select_n": select, "broadcast_in_dim": broadcast, "reshape": reshape,
    "transpose": transpose, "concatenate": concatenate, "slice": cut, "convert_element_type": convert,
    "argmax": largest, "cumsum": cumulate, "sort": sort, "gather": gather, "scatter": scatter,
    "reduce_sum": reduction("ReduceSum"), "reduce_max": reduction("ReduceMax"), "reduce_min": reduction("ReduceMin"),
}  # fmt: skip
"""Operations that need more than another name."""


def tensor_type(dtype: str) -> int:
    """The number by which ONNX knows a type."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def to_onnx(graph: Graph, inputs: Sequence[Port], outputs: Sequence[Port]) -> bytes:
    """A model of one decision. Names of inputs and outputs are the ports'; memory after a step ends in ``'``."""
    import onnx
    from onnx import helper, numpy_helper

    writer = Writer(graph)
    for given, place in zip(inputs, graph.inputs, strict=True):
        writer.node("Identity", [given.name], [str(place)])
    for equation in graph.equations:
        writer.write(equation)
    for wanted, place in zip(outputs, graph.outputs, strict=True):
        writer.node("Identity", [str(place)], [next_name(wanted.name)])
    model = helper.make_model(
        helper.make_graph(
            writer.nodes, "decision", [tensor(port.name, port) for port in inputs],
            [tensor(next_name(port.name), port) for port in outputs],
            [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in writer.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="openteam",
    )  # fmt: skip
    onnx.checker.check_model(model)
    return model.SerializeToString()


def next_name(name: str) -> str:
    """What an output is called: no output may have the name of an input."""
    return f"{name}'" if name.startswith("memory") else name


def tensor(name: str, port: Port) -> Any:
    """What ONNX says of an input or output."""
    from onnx import helper

    return helper.make_tensor_value_info(name, tensor_type(port.dtype), port.shape)
