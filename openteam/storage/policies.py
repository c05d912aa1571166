"""Policies out of checkpoints: a checkpoint knows its learner and what it looks at, so it rebuilds itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax

from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key
from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.storage.bundle import is_bundle, unbundled
from openteam.storage.checkpoint import load_tree, read_header, save_tree
from openteam.storage.config import from_json, to_json
from openteam.storage.packing import packed
from openteam.storage.run_folder import ROWS_ONLY, RunFolder
from openteam.storage.writing import Check, unchecked


def save_policy(
    path: Path,
    learner: AbstractLearner,
    model: object,
    *,
    task: str,
    spec: Spec,
    step: int,
    run: dict[str, Any] | None = None,
    check: Check = unchecked,
) -> None:
    """Write a model with all that ``load`` needs, and which run it belongs to, as ``RunFolder.coverage`` says."""
    header = {
        "kind": "policy", "task": task, "step": step, "spec": dataclasses.asdict(spec),
        "learner": packed(to_json(learner))[0], "run": run,
    }  # fmt: skip
    save_tree(path, model, header, check)


def load(path: Path | str) -> AbstractPolicy:
    """The frozen policy of a run's last checkpoint, of one checkpoint file, or of a packed run."""
    if is_bundle(Path(path)):
        with unbundled(Path(path)) as folder:
            return load(folder)
    path, header = policy_header(Path(path))
    learner = from_json(header["learner"], path.parent.parent)
    try:
        like = model_shapes(learner, Spec(**header["spec"]))
    except UserError:
        raise
    except Exception as error:  # a learner of another version, or none at all
        raise UserError(f"The policy at {path} does not fit this version: {error}.") from None
    return learner.frozen(load_tree(path, like))


def model_shapes(learner: AbstractLearner, spec: Spec) -> Any:
    """What a learner's model is made of."""
    return jax.eval_shape(lambda: learner.init(key(0), spec)).model


def policy_header(path: Path) -> tuple[Path, dict[str, Any]]:
    """The checkpoint file that a path means, and its header."""
    path = checkpoint_of(path)
    folder = RunFolder(path.parent.parent)
    in_run = path.parent.name == "checkpoints" and (folder.path / "config.json").is_file()
    header = folder.header(path) if in_run else read_header(path)
    parts = (("spec", dict), ("learner", dict), ("task", str), ("step", int))
    if header.get("kind") == ROWS_ONLY:
        raise UserError(
            f"{folder.path} was archived without its policy, which cannot be played any more; its rows can be read."
        )
    if header.get("kind") != "policy" or not all(isinstance(header.get(name), kind) for name, kind in parts):
        raise UserError(f"{path} holds no policy. Give a run folder or one of its checkpoints.")
    return path, header


def checkpoint_of(path: Path) -> Path:
    """The checkpoint file that a path means: itself, or the last one of the run."""
    if not path.is_dir():
        return path
    last = RunFolder.open(path).last()
    if last is None:
        raise UserError(f"The run at {path} has no checkpoint yet.")
    return last[0]


def check_fits(path: Path | str, task: str, spec: Spec) -> None:
    """Raise unless the checkpoint's policy can look at the task of that name, which has this spec."""
    _, header = policy_header(Path(path))
    seen, needed = header["spec"], dataclasses.asdict(spec)
    shape = ("agent_features", "shared_features", "actions")
    if any(seen.get(name) != needed[name] for name in shape):
        raise UserError(
            f"The policy at {path} was trained on '{header['task']}' and cannot act in '{task}': it expects "
            + ", ".join(f"{name} {seen.get(name)}" for name in shape)
            + "; the task has "
            + ", ".join(f"{name} {needed[name]}" for name in shape)
            + "."
        )
