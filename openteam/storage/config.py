"""Configurations as JSON and back: every module is its class name and its fields, never code."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from openteam.errors import UserError

_CLASSES: dict[str, type] = {}


def register(*classes: type) -> None:
    """Let configurations name these classes. Your own worlds, views and algorithms are welcome."""
    _CLASSES.update({cls.__name__: cls for cls in classes})


def to_json(value: Any) -> Any:
    """Nested modules as plain dictionaries."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # What a class is made of is what its constructor takes; anything else it derives.
        arguments = inspect.signature(type(value)).parameters
        return {"class": type(value).__name__} | {name: to_json(getattr(value, name)) for name in arguments}
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UserError(f"A configuration holds numbers, words and modules; got a {type(value).__name__}.")


def from_json(value: Any) -> Any:
    """The modules that ``to_json`` wrote."""
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    fields = {name: from_json(item) for name, item in value.items() if name != "class"}
    if "class" not in value:
        return fields
    cls = _CLASSES.get(value["class"])
    if cls is None:
        raise UserError(
            f"This configuration names '{value['class']}', which is not known here. If it is your own class, call "
            "openteam.register(YourClass) first."
        )
    try:
        return cls(**fields)
    except TypeError as error:
        raise UserError(f"The configuration of '{value['class']}' does not fit this version: {error}.") from None
