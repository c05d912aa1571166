"""The paper's own tables, to be put beside ours."""

from __future__ import annotations

import functools
import json
from importlib.resources import files


def published(task: str, algorithm: str, split: str) -> tuple[float, float] | None:
    """The paper's mean and half its 95 % interval, if it has them for this algorithm, task and split.

    A task's two fidelities both compare to the paper's one, but for FortAttack, whose text and code have rewards of
    different size; the paper's figures are on the code's scale.
    """
    values = _values()
    return values.get((task, algorithm, split)) or values.get((task.removesuffix("-released"), algorithm, split))


@functools.cache
def _values() -> dict[tuple[str, str, str], tuple[float, float]]:
    tables = json.loads(files("openteam.results").joinpath("paper.json").read_text())["tables"]
    return {
        (task, algorithm, table["split"]): (mean, half)
        for table in tables
        for algorithm, row in table["values"].items()
        for task, (mean, half) in zip(table["tasks"], row, strict=True)
    }
