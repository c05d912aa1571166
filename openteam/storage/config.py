"""Configurations as JSON and back: every module is its class's name and its fields, never code."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import equinox as eqx

from openteam.errors import UserError
from openteam.storage.changes import describe
from openteam.storage.classes import check_imported, class_of_name, name_of_class


class AbstractFromFiles(eqx.Module):
    """A module that takes its numbers from files that its fields name.

    Its configuration records their digest beside the fields, under ``sha256``; one with another digest is not built.
    """

    @property
    @abstractmethod
    def digest(self) -> str:
        """A fingerprint of the numbers, as of ``storage.checkpoint.digest``."""


def to_json(value: Any) -> Any:
    """Nested modules as plain dictionaries."""
    if isinstance(value, eqx.Module):
        # What a class is made of is what its constructor takes; anything else it derives.
        arguments = inspect.signature(type(value)).parameters
        config = {"class": name_of_class(type(value))} | {name: to_json(getattr(value, name)) for name in arguments}
        return config | ({"sha256": value.digest} if isinstance(value, AbstractFromFiles) else {})
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UserError(f"A configuration holds numbers, words and equinox modules; got a {type(value).__name__}.")


def from_json(value: Any) -> Any:
    """The modules that ``to_json`` wrote. Those of other people's modules are found if they have been imported."""
    check_imported(_class_names(value))
    return _build(value)


def _class_names(value: Any) -> Iterator[str]:
    """Every class that a configuration names."""
    if isinstance(value, dict) and "class" in value:
        yield str(value["class"])
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _class_names(item)


def _build(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_build, value))
    if not isinstance(value, dict):
        return value
    if "class" not in value:
        return {name: _build(item) for name, item in value.items()}
    name, cls = str(value["class"]), class_of_name(str(value["class"]))
    recorded = ("class", "sha256") if issubclass(cls, AbstractFromFiles) else ("class",)
    fields = {field: _build(item) for field, item in value.items() if field not in recorded}
    try:
        built = cls(**fields)
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"The configuration of {name} does not fit this version: {error}.") from None
    if isinstance(built, AbstractFromFiles) and value.get("sha256", built.digest) != built.digest:
        raise UserError(
            f"The numbers of {name} ({describe(fields)}) are not those that were recorded: their sha256 was "
            f"{str(value['sha256'])[:12]} and is {built.digest[:12]}. Put the old file back, or begin a new run."
        )
    return built
