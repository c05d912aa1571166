"""What a constructor accepts. Here, not beside the code: there beartype would check the classes of a test first."""

from abc import abstractmethod
from typing import Any, Literal, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from openteam.core.checked import AbstractChecked
from openteam.errors import UserError


class AbstractShape(AbstractChecked):
    @abstractmethod
    def area(self) -> int: ...


class Square(AbstractShape):
    edge: int = eqx.field(static=True, default=2)

    def __check_init__(self) -> None:
        if self.edge < 1:  # fails with a TypeError unless types are checked before
            raise UserError("A square has an edge.")

    def area(self) -> int:
        return self.edge**2


class Circle(AbstractShape):
    def area(self) -> int:
        return 3


class Sees(Protocol):
    def look(self) -> int: ...


class Drawing(AbstractChecked):
    shape: AbstractShape = Square()
    scale: float = 1.0
    bold: bool = False
    colour: Literal["red", "blue"] = "red"
    layer: int | None = None
    names: tuple[str, ...] = ()
    corner: tuple[int, int] = (0, 0)
    parts: dict[str, AbstractShape] = eqx.field(default_factory=dict)
    weights: Float[Array, "n"] | None = None
    tint: "NotToBeFound" = None
    viewer: Sees | None = None
    anything: Any = None
    array: Array = eqx.field(converter=jnp.asarray, default=0.0)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"shape": "ring"}, "Drawing's shape must be Square, Circle or another AbstractShape; got 'ring'."),
        ({"shape": Square}, r"got Square \(the class itself\). Make one of it: Square\(...\)."),
        ({"scale": "1"}, "Drawing's scale must be a finite number; got '1'."),
        ({"scale": float("nan")}, "scale must be a finite number; got nan"),
        ({"scale": True}, "scale must be a finite number; got True"),
        ({"bold": 1}, "bold must be True or False; got 1"),
        ({"colour": "green"}, "colour must be 'red' or 'blue'; got 'green'"),
        ({"layer": 1.5}, "layer must be a whole number or None; got 1.5"),
        ({"layer": False}, "layer must be a whole number or None; got False"),
        ({"layer": np.int64(1)}, "layer must be a whole number or None; got np.int64"),
        ({"names": "one"}, r"names must be a tuple, each item a string; got 'one'. For a single one write \('one',\)."),
        ({"names": ["one"]}, "Write it with round brackets."),
        ({"names": ("one", 2)}, "each item a string"),
        ({"corner": (1, 2, 3)}, r"corner must be a tuple \(a whole number, a whole number\); got \(1, 2, 3\)"),
        ({"parts": {"a": 3}}, "parts must be a dictionary from a string to"),
    ],
)
def test_a_value_of_another_type_is_refused_with_a_sentence(fields, sentence):
    with pytest.raises(UserError, match=sentence):
        Drawing(**fields)


@pytest.mark.parametrize("edge", ["3", 2.5, True, None])
def test_types_are_checked_before_a_subclass_checks_values(edge):
    with pytest.raises(UserError, match="Square's edge must be a whole number"):
        Square(edge)
    with pytest.raises(UserError, match="A square has an edge"):
        Square(0)


def test_what_fits_and_what_cannot_be_judged_passes():
    drawing = Drawing(
        Square(3), 2, True, "blue", 4, ("a",), (1, 2), {"a": Square()}, jnp.ones(2), "any", 3, object(), [1.0]
    )
    assert drawing.shape.edge == 3


def test_transformations_may_put_anything_into_a_module():
    drawing = Drawing(scale=jnp.ones(()), layer=jnp.ones((), jnp.int32))
    assert eqx.filter_eval_shape(lambda d: d, drawing).scale.shape == ()
    assert jax.jit(lambda scale: Drawing(scale=scale).scale * 2)(3.0) == 6
    stacked = eqx.filter_vmap(lambda scale: Drawing(scale=scale))(jnp.arange(3.0))
    assert stacked.scale.shape == (3,)
    assert jax.tree.map(lambda leaf: None, drawing).scale is None
