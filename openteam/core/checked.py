"""Settings of the wrong type are refused where they are given: constructors compare fields with annotations.

JAX would accept most of them, and complain much later about shapes that nobody wrote.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

import equinox as eqx
import numpy as np

from openteam.errors import UserError

UNIONS = (Union, types.UnionType)
WORDS: dict[Any, str] = {
    bool: "True or False", int: "a whole number", float: "a finite number", str: "a string", types.NoneType: "None",
}  # fmt: skip


class AbstractChecked(eqx.Module):
    """A module made of settings. Fields of the wrong type are refused before any ``__check_init__`` reads them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__check_init__" in vars(cls):  # equinox calls it before that of the parents
            setattr(cls, "__check_init__", _after_types(vars(cls)["__check_init__"]))  # noqa: B010

    def __check_init__(self) -> None:
        check_types(self)


def _after_types(check: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(check)
    def check_types_first(self: Any) -> None:
        check_types(self)
        check(self)

    return check_types_first


def check_types(config: Any) -> None:
    """Raise unless every field of a dataclass fits its annotation. What cannot be judged passes, such as arrays."""
    for name, annotation in field_types(type(config)).items():
        value = getattr(config, name)
        if not fits(value, annotation):
            raise UserError(
                f"{type(config).__name__}'s {name} must be {describe(annotation)}; got {short(value)}."
                + hint(value, annotation)
            )


@functools.lru_cache(maxsize=1024)
def field_types(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields, as far as they can be found."""
    found = {}
    for field in dataclasses.fields(cls):
        annotation: Any = field.type
        if isinstance(annotation, str):
            home = next(parent for parent in cls.__mro__ if field.name in inspect.get_annotations(parent))
            try:
                annotation = eval(annotation, vars(sys.modules[home.__module__]), dict(vars(home)))
            except Exception:  # a name that only type checkers see
                annotation = Any
        found[field.name] = Any if "converter" in field.metadata else annotation
    return found


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says, or one cannot tell."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in (bool, int, float) and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return True  # an array, also one that is being traced
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if origin in UNIONS:
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in inner)
    if origin is tuple:
        return isinstance(value, tuple) and _items_fit(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if annotation is None:
        return value is None
    return _is_instance(value, origin or annotation)


def _items_fit(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (...,):
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _is_instance(value: Any, cls: Any) -> bool:
    if not isinstance(cls, type) or cls.__module__.partition(".")[0] == "jaxtyping":
        return True  # shapes and types of arrays are the business of jaxtyping
    try:
        return isinstance(value, cls)
    except TypeError:  # a protocol that is not meant to be asked
        return True


def describe(annotation: Any) -> str:
    """An annotation in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in WORDS:
        return WORDS[annotation]
    if origin in UNIONS or origin is Literal:
        return _either([repr(option) if origin is Literal else describe(option) for option in inner])
    if origin is tuple:
        same = inner[1:] == (...,)
        return f"a tuple, each item {describe(inner[0])}" if same else f"a tuple ({', '.join(map(describe, inner))})"
    if origin is dict:
        return f"a dictionary from {describe(inner[0])} to {describe(inner[1])}"
    cls = origin or annotation
    if not isinstance(cls, type):
        return str(annotation)
    if not inspect.isabstract(cls):
        return _article(cls.__name__)
    known = _concrete(cls)  # modules are imported when they are asked for, so there may be more
    return _either([*known, f"another {cls.__name__}"] if known else [_article(cls.__name__)])


def _concrete(cls: type) -> list[str]:
    """The classes that can stand for an abstract one, as far as they have been imported."""
    below = [name for child in cls.__subclasses__() for name in _concrete(child)]
    return [*dict.fromkeys(below if inspect.isabstract(cls) else [cls.__name__, *below])]


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _either(options: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))


def short(value: Any) -> str:
    """A value for a message."""
    text = value.__name__ + " (the class itself)" if isinstance(value, type) else repr(value)
    return text if len(text) <= 60 and "\n" not in text else _article(type(value).__name__)


def hint(value: Any, annotation: Any) -> str:
    """What was probably meant."""
    if isinstance(value, type):
        return f" Make one of it: {value.__name__}(...)."
    options = get_args(annotation) if get_origin(annotation) in UNIONS else (annotation,)
    sequences = [option for option in options if get_origin(option) is tuple]
    if any(fits((value,), option) for option in sequences):
        return f" For a single one write ({short(value)},)."
    if isinstance(value, list) and any(fits(tuple(value), option) for option in sequences):
        return " Write it with round brackets."
    return ""
