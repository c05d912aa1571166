"""Metrics for those who want them elsewhere too. The run folder's JSON lines remain the truth."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.training.driver import Progress, Report, silent

Write = Callable[[int, dict[str, float]], None]


def tensorboard(folder: Path) -> tuple[Write, Callable[[], None]]:
    """Event files beside the rows."""
    writer = _import(MODULES["tensorboard"], "tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def write(step: int, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)

    return write, writer.close


def wandb(folder: Path) -> tuple[Write, Callable[[], None]]:
    """Weights & Biases, also offline."""
    run = _import("wandb", "wandb").init(project="openteam", name=folder.name, dir=str(folder), reinit="create_new")
    return lambda step, metrics: run.log(metrics, step=step), run.finish


def trackio(folder: Path) -> tuple[Write, Callable[[], None]]:
    """A local database."""
    run = _import("trackio", "trackio").init(project="openteam", name=folder.name)
    return lambda step, metrics: run.log(metrics, step=step), run.finish


LOGGERS: dict[str, Callable[[Path], tuple[Write, Callable[[], None]]]] = {
    "tensorboard": tensorboard,
    "wandb": wandb,
    "trackio": trackio,
}


MODULES = {"tensorboard": "tensorboardX", "wandb": "wandb", "trackio": "trackio"}


@contextlib.contextmanager
def logging_to(name: str, folders: Sequence[Path]) -> Iterator[Report]:
    """A report that writes to one of the loggers, for runs of consecutive seeds in these folders."""
    if name == "none":
        yield silent
        return
    _import(MODULES[name], name)  # before anything is made or compiled
    open_logs: dict[int, tuple[Write, Callable[[], None]]] = {}

    def report(progress: Progress) -> None:
        if progress.seed not in open_logs:
            open_logs[progress.seed] = LOGGERS[name](folders[len(open_logs)])
        write, _ = open_logs[progress.seed]
        evaluation = {f"evaluation/{split}": mean for split, mean in (progress.evaluation or {}).items()}
        training = {f"train/{key}": value for key, value in (progress.metrics or {}).items() if value is not None}
        if evaluation or training:
            write(progress.step, evaluation | training)

    try:
        yield report
    finally:
        for _, close in open_logs.values():
            close()


def _import(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UserError(f"--log {extra} needs {module}. Install it: pip install 'openteam[{extra}]'") from None
