"""The authors' agents in the user's data folder: one file for each world, arrays under the names they have in torch."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np

from openteam.errors import UserError
from openteam.storage.checkpoint import load_tree, read_header, save_tree, tree_digest
from openteam.storage.config import AbstractFromFiles
from openteam.storage.data_folder import make_private
from openteam.storage.imported import check_imported, imported_path
from openteam.teammates.authors.published import GROUPS, used

State = dict[str, Any]
"""The arrays of one network by name."""
Agents = dict[str, dict[str, State]]
"""The networks of agents: by agent, then by part."""


class AbstractPublished(AbstractFromFiles):
    """Something that acts by imported agents of one world.

    A run records their names and the digest of their numbers. It holds no copy, since the files have no licence under
    which a run could be passed on with them.
    """

    group: ClassVar[str]
    """The world they are of: a key of ``GROUPS``."""
    names: eqx.AbstractVar[tuple[str, ...]]
    names_files: ClassVar[str] = "names"

    @classmethod
    def file_of(cls, name: str) -> Path | None:
        del name
        return None

    @property
    def agents(self) -> Agents:
        """The named agents' arrays, read when they are first needed."""
        everyone = read_group(self.group, type(self).__name__)
        return {name: everyone[name] for name in self.names}

    @property
    def digest(self) -> str:
        return tree_digest(self.agents)


def check_names(owner: AbstractPublished, network: str) -> None:
    """Raise unless all names are those of published agents with such a network."""
    known = [file.member for file in GROUPS[owner.group].files if file.network == network]
    unknown = [name for name in owner.names if name not in known]
    if unknown or not owner.names:
        raise UserError(
            f"{type(owner).__name__}'s names are of {', '.join(known)}; got {', '.join(owner.names) or 'none'}."
        )


def read_group(group: str, who: str) -> Agents:
    """All imported agents of a world. ``who`` is named if there are none."""
    check_imported(group, who)
    path = imported_path(group)
    return _read(path, group, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _read(path: Path, group: str, changed: int) -> Agents:
    del changed
    header = read_header(path)
    if header.get("kind") != "authors" or header.get("group") != group:
        raise UserError(f"{path} does not hold the authors' agents of '{group}'. Import them again.")
    like = {
        file.member: {
            part: {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in used(file.network).items()}
            for part in file.parts
        }
        for file in GROUPS[group].files
    }
    with jax.ensure_compile_time_eval():
        return jax.tree.map(np.asarray, load_tree(path, like))


def write_group(group: str, agents: Agents, sources: dict[str, str]) -> Path:
    """Keep the agents of a world; ``sources`` are the fingerprints of the files they come from."""
    path = imported_path(group)
    make_private(path.parent)
    save_tree(path, agents, {"kind": "authors", "group": group, "sources": sources})
    return path
