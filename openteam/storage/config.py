"""Configurations as JSON and back: every module is its class's name and its fields, never code."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx

from openteam.errors import UserError
from openteam.storage.changes import describe
from openteam.storage.classes import check_imported, class_of_name, name_of_class
from openteam.storage.creation import PACKED, TEAMMATES


class AbstractFromFiles(eqx.Module):
    """A module that takes its numbers from files that its fields name.

    Its configuration records their digest beside the fields, under ``sha256``; one with another digest is not built.
    A run keeps copies of such files in its own folder (``storage.packing``).
    """

    names_files: ClassVar[str]
    """The field that names them, one or several."""

    @classmethod
    @abstractmethod
    def file_of(cls, name: str) -> Path | None:
        """The file that a name in that field stands for; None if it is shipped with the package."""

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


def from_json(value: Any, folder: Path | None = None) -> Any:
    """The modules that ``to_json`` wrote. Those of other people's modules are found if they have been imported.

    With ``folder``, the configuration comes out of a run there, and no file outside it is read.
    """
    try:
        check_imported(_class_names(value))
        return _build(value, folder)
    except RecursionError:
        raise UserError("This configuration is nested too deeply to be one of openteam's.") from None


def _class_names(value: Any) -> Iterator[str]:
    """Every class that a configuration names."""
    if isinstance(value, dict) and "class" in value:
        yield str(value["class"])
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _class_names(item)


def _build(value: Any, folder: Path | None) -> Any:
    if isinstance(value, list):
        return tuple(_build(item, folder) for item in value)
    if not isinstance(value, dict):
        return value
    if "class" not in value:
        return {name: _build(item, folder) for name, item in value.items()}
    name, cls = str(value["class"]), class_of_name(str(value["class"]))
    from_files = issubclass(cls, AbstractFromFiles)
    recorded = ("class", "sha256") if from_files else ("class",)
    fields = {field: _build(item, folder) for field, item in value.items() if field not in recorded}
    if from_files and folder is not None and cls.names_files in fields:
        fields[cls.names_files] = _inside(folder, cls, fields[cls.names_files])
    try:
        built = cls(**fields)
        digest = built.digest if isinstance(built, AbstractFromFiles) else None
    except UserError:
        raise
    except Exception as error:  # other types than it expects, and its constructor may do anything with them
        raise UserError(f"The configuration of {name} does not fit this version: {error}.") from None
    if digest is not None and value.get("sha256", digest) != digest:
        raise UserError(
            f"The numbers of {name} ({describe(fields)}) are not those that were recorded: their sha256 was "
            f"{str(value['sha256'])[:12]} and is {digest[:12]}. Put the old file back, or begin a new run."
        )
    return built


def _inside(folder: Path, cls: type[AbstractFromFiles], names: Any) -> Any:
    """The same names, those of files in a run made absolute; any other file is not looked at."""
    if isinstance(names, tuple):
        return tuple(_inside(folder, cls, name) for name in names)
    if not isinstance(names, str):
        raise UserError(f"{folder}: {cls.__name__}'s {cls.names_files} should be names of files; got {names!r}.")
    if PACKED.fullmatch(names):
        return str(folder / names)
    if cls.file_of(names) is not None:
        raise UserError(
            f"{folder} names a file outside itself, '{names}', which is not read. Runs hold copies of their "
            f"{TEAMMATES}; begin a new run to use that file."
        )
    return names
