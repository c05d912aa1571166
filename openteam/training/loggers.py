"""Metrics for those who want them elsewhere too. The run folder's JSON lines remain the truth."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openteam.errors import UserError

if TYPE_CHECKING:  # flags are checked before JAX is imported
    from openteam.training.driver import Progress, Report

Write = Callable[[int, dict[str, float]], None]
Log = Literal["none", "tensorboard", "wandb", "trackio"]
MODULES: dict[Log, str] = {"tensorboard": "tensorboardX", "wandb": "wandb", "trackio": "trackio"}
"""What each needs to be installed."""


def check_installed(log: Log) -> None:
    """Raise unless a logger can be used: a run that finds out later has done its work for nothing."""
    if log in MODULES and importlib.util.find_spec(MODULES[log]) is None:
        raise UserError(f"--log {log} needs {MODULES[log]}. Install it: pip install 'openteam[{log}]'")


def tensorboard(folder: Path) -> tuple[Write, Callable[[], None]]:
    """Event files beside the rows."""
    writer = _import("tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def write(step: int, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)

    return write, writer.close


def wandb(folder: Path) -> tuple[Write, Callable[[], None]]:
    """Weights & Biases, also offline."""
    run = _import("wandb").init(project="openteam", name=folder.name, dir=str(folder), reinit="create_new")
    return lambda step, metrics: run.log(metrics, step=step), run.finish


def trackio(folder: Path) -> tuple[Write, Callable[[], None]]:
    """A local database."""
    run = _import("trackio").init(project="openteam", name=folder.name)
    return lambda step, metrics: run.log(metrics, step=step), run.finish


LOGGERS: dict[str, Callable[[Path], tuple[Write, Callable[[], None]]]] = {
    "tensorboard": tensorboard,
    "wandb": wandb,
    "trackio": trackio,
}


@contextlib.contextmanager
def logging_to(name: Log, folders: Sequence[Path]) -> Iterator[Report]:
    """A report that writes to one of the loggers, for runs of consecutive seeds in these folders."""
    check_installed(name)
    open_logs: dict[int, tuple[Write, Callable[[], None]]] = {}

    def report(progress: Progress) -> None:
        if name == "none":
            return
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


def _import(log: Log) -> Any:
    try:
        return importlib.import_module(MODULES[log])
    except ImportError as error:
        raise UserError(f"--log {log} needs {MODULES[log]}, which cannot be imported: {error}.") from None
