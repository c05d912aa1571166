"""Runs an exported policy with numpy alone. This file stands beside the policy and needs nothing else.

``graph.json`` has the operations of one decision in order, ``numbers.npz`` its constants. Values are numbered.
"""

import json
from pathlib import Path

import numpy as np


def broadcast(inputs, options):
    """Copy along new axes; every axis of the input goes to the one that is named."""
    (x,) = inputs
    shape, axes = options["shape"], options["broadcast_dimensions"]
    spread = [1] * len(shape)
    for axis, place in enumerate(axes):
        spread[place] = np.shape(x)[axis]
    return [np.broadcast_to(np.reshape(x, spread), shape)]


def cut(inputs, options):
    """A piece of an array."""
    strides = options["strides"] or [None] * len(options["start_indices"])
    bounds = zip(options["start_indices"], options["limit_indices"], strides, strict=True)
    return [inputs[0][tuple(slice(*bound) for bound in bounds)]]


def cumulate(inputs, options):
    """Sums of all before, oneself included."""
    (x,), axis = inputs, options["axis"]
    x = np.flip(x, axis) if options["reverse"] else x
    total = np.cumsum(x, axis, dtype=x.dtype)
    return [np.flip(total, axis) if options["reverse"] else total]


def order(inputs, options):
    """Sort arrays by the first; equal entries stay in their order."""
    axis = options["dimension"]
    if options["num_keys"] != 1:
        raise ValueError("only one array can be sorted by")
    places = np.argsort(inputs[0], axis, kind="stable")
    return [np.take_along_axis(x, places, axis) for x in inputs]


def put(inputs, options):
    """A vector with other entries at some places."""
    x, places, values = inputs
    x = np.array(x)
    x[places[:, 0]] = values
    return [x]


def divide(x, y):
    """x / y, cut to a whole number if both are whole."""
    return np.divide(x, y) if np.issubdtype(x.dtype, np.floating) else np.trunc(np.divide(x, y)).astype(x.dtype)


def logistic(x):
    """1 / (1 + exp(-x)), without an overflow."""
    return (1 + np.tanh(x / 2)) / 2


def each(function):
    """An operation of numpy's as one with options."""
    return lambda inputs, options: [function(*inputs)]


def over(function):
    """A reduction over axes."""
    return lambda inputs, options: [function(inputs[0], axis=tuple(options["axes"]))]


OPERATIONS = {
    "add": each(np.add), "sub": each(np.subtract), "mul": each(np.multiply), "div": each(divide),
    "max": each(np.maximum), "min": each(np.minimum), "neg": each(np.negative), "abs": each(np.abs),
    "sign": each(np.sign), "floor": each(np.floor), "rem": each(np.fmod), "exp": each(np.exp), "log": each(np.log),
    "sqrt": each(np.sqrt), "tanh": each(np.tanh), "logistic": each(logistic), "eq": each(np.equal),
    "ne": each(np.not_equal), "lt": each(np.less), "le": each(np.less_equal), "gt": each(np.greater),
    "ge": each(np.greater_equal), "and": each(np.logical_and), "or": each(np.logical_or), "not": each(np.logical_not),
    "dot_general": each(np.matmul), "select_n": each(lambda which, no, yes: np.where(which, yes, no)),
    "gather": each(lambda x, places: x[places[:, 0]]), "scatter": put, "sort": order, "cumsum": cumulate,
    "slice": cut, "broadcast_in_dim": broadcast,
    "reshape": lambda inputs, options: [np.reshape(inputs[0], options["new_sizes"])],
    "transpose": lambda inputs, options: [np.transpose(inputs[0], options["permutation"])],
    "concatenate": lambda inputs, options: [np.concatenate(inputs, options["dimension"])],
    "convert_element_type": lambda inputs, options: [np.asarray(inputs[0]).astype(options["new_dtype"])],
    "argmax": lambda inputs, options: [np.argmax(inputs[0], options["axes"][0]).astype(np.int32)],
    "reduce_sum": lambda inputs, options: [np.sum(inputs[0], tuple(options["axes"]), dtype=inputs[0].dtype)],
    "reduce_max": over(np.max), "reduce_min": over(np.min),
}  # fmt: skip


class Step:
    """One decision: a dictionary of arrays in, a dictionary of arrays out."""

    def __init__(self, folder):
        graph = json.loads((Path(folder) / "graph.json").read_text(encoding="utf-8"))
        with np.load(Path(folder) / "numbers.npz", allow_pickle=False) as numbers:
            self.values = {int(name): numbers[name] for name in numbers.files}
        self.inputs, self.outputs, steps = graph["inputs"], graph["outputs"], graph["equations"]
        self.steps = []
        for name, inputs, outputs, options in steps:
            if all(place in self.values for place in inputs):  # the same in every decision
                results = OPERATIONS[name]([self.values[place] for place in inputs], options)
                self.values.update(zip(outputs, results, strict=True))
            else:
                self.steps.append((OPERATIONS[name], inputs, outputs, options))

    def __call__(self, arrays):
        """Outputs by name."""
        values = dict(self.values)
        values.update((place, np.asarray(arrays[name])) for name, place in self.inputs.items())
        with np.errstate(all="ignore"):
            for operation, inputs, outputs, options in self.steps:
                values.update(zip(outputs, operation([values[place] for place in inputs], options), strict=True))
        return {name: np.asarray(values[place]) for name, place in self.outputs.items()}
