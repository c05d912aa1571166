"""Runs hold copies of the files that they take numbers from, so that they need nothing outside their folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.classes import class_of_name
from openteam.storage.config import AbstractFromFiles
from openteam.storage.creation import PACKED, TEAMMATES


def packed(config: Any) -> tuple[Any, dict[str, Path]]:
    """A configuration that names files as a run holds them, and which file goes under each of these names."""
    names: dict[Path, str] = {}
    return _packed(config, names), {name: path for path, name in names.items()}


def _packed(config: Any, names: dict[Path, str]) -> Any:
    if isinstance(config, list):
        return [_packed(item, names) for item in config]
    if not isinstance(config, dict):
        return config
    cls = _from_files(config.get("class"))
    new = {field: _packed(item, names) for field, item in config.items()}
    if cls is not None and cls.names_files in new:
        new[cls.names_files] = _renamed(cls, new[cls.names_files], names)
    return new


def _from_files(name: Any) -> type[AbstractFromFiles] | None:
    try:
        cls = class_of_name(str(name))
    except UserError:  # of a module that is not here: it could not have been built
        return None
    return cls if issubclass(cls, AbstractFromFiles) else None


def _renamed(cls: type[AbstractFromFiles], value: Any, names: dict[Path, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(cls, item, names) for item in value]
    path = cls.file_of(value)
    if path is None:
        return value
    if path not in names:
        names[path] = next(name for name in _candidates(path, value) if name not in names.values())
    return names[path]


def _candidates(path: Path, name: str) -> Iterator[str]:
    """A file out of a run keeps the name that it has there; others are called what the user calls them."""
    kept = PACKED.search(path.as_posix())
    yield kept.group() if kept else f"{TEAMMATES}/{short_name(name)}.safetensors"
    yield from (f"{TEAMMATES}/{number}/{short_name(name)}.safetensors" for number in itertools.count(1))


def short_name(path: str | Path) -> str:
    """What to call a run, a checkpoint or a file of weights: the same before and after it is packed."""
    path = Path(path).resolve()
    return path.stem if path.suffix == ".safetensors" else path.name
