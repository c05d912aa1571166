"""A folder of runs as curves and tables for a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from openteam.analysis.compare import Group, compare
from openteam.analysis.statistics import mean_interval
from openteam.storage.run_folder import RunFolder
from openteam.viewer.frames import tidy


def gallery_of(runs: list[Path]) -> dict[str, Any]:
    """Tasks, the algorithms in each, their curves with intervals over seeds, and their runs by number."""
    comparison = compare(runs)
    numbers = {run.resolve(): number for number, run in enumerate(runs)}
    return {
        "tasks": [
            {
                "name": groups[0].task.name,
                "changes": groups[0].task.changes,
                "splits": comparison.splits(name),
                "groups": [group_of(group, numbers) for group in groups],
            }
            for name, groups in comparison.tasks.items()
        ],
        "left_out": list(comparison.left_out),
    }


def group_of(group: Group, numbers: dict[Path, int]) -> dict[str, Any]:
    """An algorithm on a task: curves of every split, figures at its best checkpoint, and its runs."""
    return {
        "name": group.shown.replace(str(group.algorithm), group.algorithm.name, 1),
        "changes": group.algorithm.changes,
        "steps": group.checkpoints,
        "curves": {split: curve_of(group, split) for split in group.splits},
        "best": {split: tidy(group.estimate(split, "best")) for split in group.splits},
        "best_step": group.chosen("best")[0],
        "runs": [
            {
                "number": numbers[run.path.resolve()],
                "seed": run.config["seed"],
                "watchable": [int(path.stem) for path in RunFolder(run.path).policies],
            }
            for run in group.runs
        ],
    }


def curve_of(group: Group, split: str) -> dict[str, Any]:
    """Mean over seeds at every checkpoint, and half of its 95 % interval, none with one seed."""
    mean, half = mean_interval(group.curves(split))
    return {"mean": tidy(mean), "half": tidy(np.broadcast_to(half, np.shape(mean)))}
