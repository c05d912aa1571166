"""From a copy of the authors' repositories to the user's data folder: find, read, check, keep."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from openteam.errors import UserError
from openteam.storage.torch_files import LARGEST, read_torch
from openteam.teammates.authors.published import GROUPS, NETWORKS, SIDES, UNUSED, Group, PublishedFile
from openteam.teammates.authors.store import Agents, State, write_group

TEAM = 5  # a file of FortAttack repeats a side's network for each of its five agents


@dataclasses.dataclass(frozen=True)
class Imported:
    """What was imported of one world."""

    group: str
    path: Path
    members: tuple[str, ...]
    changed: tuple[Path, ...]
    """Files that differ from the published ones."""


def import_agents(folder: Path, accept_changed: bool = False) -> list[Imported]:
    """Import all agents that are found below a folder. Nothing is kept unless all of them are in order."""
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Give your copy of the authors' repository GPL or PO-GPL.")
    loose = by_fingerprint(folder)
    found = {name: find(folder, group, loose) for name, group in GROUPS.items()}
    if not any(found.values()):
        raise UserError(
            f"There are none of the published agents in {folder}. Give the top folder of a copy of "
            "github.com/uoe-agents/GPL or PO-GPL."
        )
    for name, paths in found.items():
        missing = [file.path for file in GROUPS[name].files if paths and file.member not in paths]
        if missing:
            raise UserError(f"{folder} has some agents of '{name}' and lacks {', '.join(missing)}. Get a full copy.")
    read = {name: read_agents(GROUPS[name], paths, accept_changed) for name, paths in found.items() if paths}
    return [
        Imported(name, write_group(name, agents, sources), tuple(agents), tuple(changed))
        for name, (agents, sources, changed) in read.items()
    ]


def by_fingerprint(folder: Path) -> dict[str, Path]:
    """The files that lie in a folder itself, by their sha256: published ones are recognised under any name."""
    paths = [path for path in sorted(folder.iterdir()) if path.is_file() and path.stat().st_size <= LARGEST]
    return {fingerprint(path): path for path in paths}


def fingerprint(path: Path) -> str:
    """The sha256 of a file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None


def find(folder: Path, group: Group, loose: dict[str, Path]) -> dict[str, Path]:
    """The files of a group that are there, by member: where a repository has them, or in the folder itself."""
    found = {}
    for file in group.files:
        places = [folder / below / file.path for below in group.folders]
        path = next((place for place in places if place.is_file()), loose.get(file.sha256))
        if path is not None:
            found[file.member] = path
    return found


def read_agents(
    group: Group, paths: dict[str, Path], accept_changed: bool
) -> tuple[Agents, dict[str, str], list[Path]]:
    """The networks of a group, the fingerprints of its files, and which of these are not the published ones."""
    sources = {member: fingerprint(path) for member, path in paths.items()}
    changed = [paths[file.member] for file in group.files if sources[file.member] != file.sha256]
    if changed and not accept_changed:
        raise UserError(
            f"{', '.join(map(str, changed))}: not the published content, by sha256. Get a fresh copy, or import the "
            "networks as they are with --accept-changed."
        )
    agents = {file.member: networks(paths[file.member], file) for file in group.files}
    return agents, sources, changed


def networks(path: Path, file: PublishedFile) -> dict[str, State]:
    """The networks of one file, by part, without the arrays that have no part in acting."""
    content = read_torch(path)
    states = {"network": content}
    if file.parts == SIDES:
        models = content.get("models") if isinstance(content, dict) else None
        if not isinstance(models, list) or len(models) != 2 * TEAM:
            raise UserError(f"{path} should hold ten networks, five of guards and five of attackers.")
        states = dict(zip(SIDES, (models[0], models[TEAM]), strict=True))
    return {part: checked(path, state, file.network) for part, state in states.items()}


def checked(path: Path, state: Any, network: str) -> State:
    """The arrays of a network that are used, after all of them were compared with what is expected."""
    expected = NETWORKS[network]
    if not isinstance(state, dict) or not all(isinstance(array, np.ndarray) for array in state.values()):
        raise UserError(f"{path} should hold the arrays of a network, and holds something else.")
    shapes = {name: array.shape for name, array in state.items()}
    if shapes != expected:
        odd = sorted(name for name in shapes.keys() | expected.keys() if shapes.get(name) != expected.get(name))[0]
        raise UserError(
            f"{path} does not hold the network it should: '{odd}' has the shape {shapes.get(odd, 'of nothing')} in the "
            f"file, and {expected.get(odd, 'no such array')} is expected."
        )
    kept = {name: array for name, array in state.items() if not any(part in name for part in UNUSED)}
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in kept.values()):
        raise UserError(f"{path} has numbers that are not finite or not of 32 bits.")
    return kept
