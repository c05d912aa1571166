"""A policy and what it was trained to be given, out of a run folder, a checkpoint or a packed run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openteam.api import path_of, task_of_run
from openteam.core.policy import AbstractPolicy
from openteam.deploy.interface import Interface, interface_of
from openteam.storage import policies
from openteam.storage.bundle import is_bundle, unbundled


@dataclass(frozen=True)
class Opened:
    """A trained policy, and where it is read from."""

    policy: AbstractPolicy
    interface: Interface
    checkpoint: Path


@contextlib.contextmanager
def open_run(run: os.PathLike[str] | str) -> Iterator[Opened]:
    """The policy of a run's last checkpoint, or of a checkpoint file in a run."""
    path = path_of(run, "load")
    with unbundled(path) if is_bundle(path) else contextlib.nullcontext(path) as place:
        policy = policies.load(place)
        yield Opened(policy, interface_of(task_of_run(place)), policies.checkpoint_of(place))
