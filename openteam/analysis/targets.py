"""The paper's tables and figures of results: which runs each needs, by row of the paper and by task."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from openteam.algorithms.presets import ALGORITHMS
from openteam.analysis.paper import tables
from openteam.tasks import TASKS

NAMES = {
    "gpl-q": "GPL-Q",
    "gpl-spi": "GPL-SPI",
    "pf-gpl": "PF-GPL (10)",
    "pf-gpl-5": "PF-GPL (5)",
    "pf-gpl-1": "PF-GPL (1)",
}
FULL, PARTIAL, UNSEEN = tables()
FORT = ("fortattack-released",)
SINGLE_AGENT = ("ql", "ql-am", "gnn", "gnn-am")
BELIEVERS = ("vae-gpl", "ae-gpl", "gpl-q", "pf-gpl", "pf-gpl-5", "pf-gpl-1")


@dataclasses.dataclass(frozen=True)
class Target:
    """A table or figure of the paper, as a product of rows and tasks."""

    name: str
    title: str
    rows: tuple[str, ...]
    tasks: tuple[str, ...]
    split: str = "train"
    """That a table is about; the best checkpoint is always chosen on ``train``."""


def released(name: str) -> str:
    """The preset of a task or a row that follows the released code, or else the only one there is."""
    return f"{name}-released" if f"{name}-released" in (*TASKS, *ALGORITHMS) else name


def row_title(row: str) -> str:
    """What the paper calls a row."""
    return NAMES.get(row, row.upper())


def _of_table(name: str, table: dict, rows: Iterable[str] | None = None, title: str | None = None) -> Target:
    tasks = tuple(map(released, table["tasks"]))
    return Target(name, title or table["name"], tuple(rows or table["values"]), tasks, table["split"])


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        _of_table("full", FULL),
        _of_table("partial", PARTIAL),
        _of_table("unseen", UNSEEN),
        _of_table("iqm", PARTIAL, title="Interquartile mean over team sizes 3 and 5, last checkpoint"),
        Target("shooting", "Shooting accuracy in FortAttack", ("gpl-q", *SINGLE_AGENT), FORT),
        Target("utilities", "Pairwise utility of a shot in the paper's four scenarios", ("gpl-q",), FORT),
        Target("values", "State values of the single-agent baselines", SINGLE_AGENT, FORT),
        _of_table("reconstruction", PARTIAL, BELIEVERS, "Reconstruction of actions, state and existence"),
    )
}


def runs_of(targets: Iterable[Target]) -> Iterator[tuple[str, str]]:
    """Task and row of every run that these need, each once, the tasks in turn."""
    yield from dict.fromkeys((task, row) for target in targets for task in target.tasks for row in target.rows)


def splits_of(task: str) -> tuple[str, ...]:
    """The splits of a task that some table or figure of the paper is about; the same whichever is asked for."""
    wanted = {target.split for target in TARGETS.values() if task in target.tasks}
    return tuple(split for split in ("train", "larger", "unseen") if split in wanted | {"train"})
