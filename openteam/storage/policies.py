"""Policies out of checkpoints: a checkpoint knows its learner and what it looks at, so it rebuilds itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax

from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key
from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.storage.checkpoint import load_tree, read_header, save_tree
from openteam.storage.config import from_json, to_json
from openteam.storage.run_folder import RunFolder


def save_policy(path: Path, learner: AbstractLearner, model: object, *, task: str, spec: Spec, step: int) -> None:
    """Write a model with all that ``load`` needs."""
    header = {
        "kind": "policy", "task": task, "step": step, "spec": dataclasses.asdict(spec), "learner": to_json(learner)
    }  # fmt: skip
    save_tree(path, model, header)


def load(path: Path | str) -> AbstractPolicy:
    """The frozen policy of a run's last checkpoint, or of one checkpoint file."""
    path = checkpoint_of(Path(path))
    header = read_header(path)
    if header.get("kind") != "policy":
        raise UserError(f"{path} holds no policy. Give a run folder or one of its checkpoints.")
    learner = from_json(header["learner"])
    spec = Spec(**header["spec"])
    like = jax.eval_shape(lambda: learner.init(key(0), spec)).model
    return learner.frozen(load_tree(path, like))


def checkpoint_of(path: Path) -> Path:
    """The checkpoint file that a path means: itself, or the last one of the run."""
    if not path.is_dir():
        return path
    found = RunFolder.open(path).checkpoints
    if not found:
        raise UserError(f"The run at {path} has no checkpoint yet.")
    return found[-1]


def check_fits(path: Path | str, task: str, spec: Spec) -> None:
    """Raise unless the checkpoint's policy can look at the task of that name, which has this spec."""
    header = read_header(checkpoint_of(Path(path)))
    seen, needed = header["spec"], dataclasses.asdict(spec)
    shape = ("agent_features", "shared_features", "actions")
    if any(seen[name] != needed[name] for name in shape):
        raise UserError(
            f"The policy at {path} was trained on '{header['task']}' and cannot act in '{task}': it expects "
            + ", ".join(f"{name} {seen[name]}" for name in shape)
            + "; the task has "
            + ", ".join(f"{name} {needed[name]}" for name in shape)
            + "."
        )
