"""How long runs will take, from the speed of earlier runs on this machine.

Every row of a run's ``train.jsonl`` holds a step and the seconds since the row before. A run says how fast another one
will be if it has the same learner on a task of the same name, and was made on the same kind of processor.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.about import cpu_model
from openteam.storage.columns import COLUMNS, read_columns
from openteam.storage.config import from_json, to_json
from openteam.storage.rows import TIMED
from openteam.storage.run_folder import RunFolder

Kind = tuple[str, str]  # the task's name, the learner's configuration
USUAL = (Path("runs"), Path("results"))  # where plans and examples put runs
BASIS = "by earlier runs on such a processor; compiling, about a minute per run, and evaluations come on top"
UNKNOWN = "Time: unknown, as no such run was measured on this machine yet"


def kind_of(config: dict[str, Any]) -> Kind:
    """What a run's speed depends on. Settings that the learner did not have yet are as the code fills them in."""
    learner = config["learner"]
    with contextlib.suppress(UserError):  # of a class that is not imported here
        learner = to_json(from_json(learner))
    return config["task"]["name"], json.dumps(learner, sort_keys=True)


def measured_speeds(
    folders: Iterable[Path], cpu: str | None = None, like: Sequence[dict[str, Any]] | None = None
) -> dict[Kind, float]:
    """Steps per second of every kind of run below the folders that was made on this processor: the median of runs.

    Given the configurations of runs ``like`` which they must be, no others are read: there may be hundreds.
    """
    found: dict[Kind, list[float]] = {}
    processor = cpu_model() if cpu is None else cpu
    wanted = None if like is None else {kind_of(config) for config in like}
    for run in {about.parent.resolve() for folder in folders for about in folder.rglob("about.json")}:
        try:
            if json.loads((run / "about.json").read_text())["machine"]["cpu"] != processor:
                continue
            kind = kind_among(wanted, json.loads((run / "config.json").read_text()))
            speed = None if kind is None else speed_of(timed_rows(run))
            if kind is not None and speed is not None:
                found.setdefault(kind, []).append(speed)
        except (UserError, OSError, ValueError, KeyError, TypeError, IndexError):
            continue  # a run that cannot be read says nothing; whoever needs it will be told
    return {kind: statistics.median(speeds) for kind, speeds in found.items()}


def kind_among(wanted: set[Kind] | None, config: dict[str, Any]) -> Kind | None:
    """The kind of a run if it is wanted; all are if nothing is said. Names are compared first: that costs nothing."""
    if wanted is not None and config["task"]["name"] not in {task for task, _ in wanted}:
        return None
    kind = kind_of(config)
    return kind if wanted is None or kind in wanted else None


def timed_rows(run: Path) -> list[dict[str, Any]]:
    """The rows of training that are there, of a run that may be at work."""
    path = run / TIMED
    if not path.exists() and (run / COLUMNS).exists():
        return read_columns(run / COLUMNS)[0][TIMED]
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def speed_of(rows: Sequence[dict[str, Any]]) -> float | None:
    """The median speed between two rows, which a pause or a compilation does not change; None before the second."""
    speeds = [
        (row["step"] - before["step"]) / row["seconds"]
        for before, row in itertools.pairwise(rows)
        if row["seconds"] > 0 and row["step"] > before["step"]
    ]
    return statistics.median(speeds) if speeds else None


def seconds_for(config: dict[str, Any], steps: int, speeds: dict[Kind, float]) -> float | None:
    """How long these steps of training will take; None if no run of this kind was measured."""
    speed = speeds.get(kind_of(config))
    return None if speed is None else steps / speed


def wall_clock(durations: Sequence[float], processes: int) -> float:
    """When the last run ends if each starts, in this order, as soon as one of the processes is free."""
    free = [0.0] * processes
    for seconds in durations:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def in_words(seconds: float | None) -> str:
    """``3 h 20 min``, ``12 min``, ``under a minute``, or ``unknown``."""
    if seconds is None:
        return "unknown"
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02d} min" if hours else f"{minutes} min"


def forecast(folders: Sequence[Path], processes: int) -> str:
    """A sentence on how long new runs will take together, by those beside them and in the usual places."""
    beside = [about.parent for out in {folder.parent for folder in folders} for about in out.glob("*/about.json")]
    configs = [RunFolder.open(folder).config for folder in folders]
    speeds = measured_speeds([*beside, *USUAL], like=configs[:1])  # they differ in their seeds
    times = [seconds_for(config, config["settings"]["steps"], speeds) for config in configs]
    known = [seconds for seconds in times if seconds is not None]
    if len(known) < len(times):
        return f"{UNKNOWN}; the bar will tell."
    return f"Time: about {in_words(wall_clock(known, processes))}, {BASIS}."


def total_time(times: Sequence[float | None], processes: int) -> str:
    """A sentence on all runs of a plan together."""
    known = [seconds for seconds in times if seconds is not None]
    if not times:
        return "Nothing is left to do."
    if not known:
        return f"{UNKNOWN}."
    more = len(times) - len(known)
    unmeasured = f"; {more} of the runs have an unknown time, which comes on top" if more else ""
    at_once = "one process" if processes == 1 else f"{processes} processes"
    last = in_words(wall_clock(known, processes))
    return f"About {sum(known) / 3600:.1f} core-hours of training, {last} with {at_once}{unmeasured}; {BASIS}."
