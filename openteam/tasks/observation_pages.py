"""A page per world on what is observed there, with bounds.

``python -m openteam.tasks.observation_pages docs/observations`` writes them all.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from openteam.core.layout import Documented, Entry, Layout
from openteam.task import Task
from openteam.tasks import TASKS

TITLES = {
    "lbf": "Level-Based Foraging",
    "wolfpack": "Wolfpack",
    "fortattack": "FortAttack",
    "navigation": "Penalized Cooperative Navigation",
}


def layout_of(task: Task) -> Layout:
    """The bounds that hold in all of a task's splits."""
    if not isinstance(task.world, Documented):
        raise TypeError(f"{type(task.world).__name__} has no layout.")
    return task.world.layout(max(task.split(split).slots for split in task.split_names))


def page(world: str) -> str:
    """The page on the world of all tasks whose names begin so."""
    columns: dict[Layout, list[str]] = {}
    for name, build in TASKS.items():
        if name.split("-")[0] == world:
            columns.setdefault(layout_of(build()), []).append(f"`{name}`")
    return "\n".join(lines(TITLES[world], columns))


def lines(title: str, columns: dict[Layout, list[str]]) -> Iterator[str]:
    """The page of tasks whose layouts differ in bounds at most."""
    layouts, names = list(columns), [", ".join(names) for names in columns.values()]
    yield f"# {title}: the observation\n"
    yield "Made by `python -m openteam.tasks.observation_pages docs/observations` from what the code declares.\n"
    yield f"{layouts[0].note}\nNumbers are raw. Bounds hold in all splits of {', '.join(names)}."
    yield "What a [view](../views.md) hides reads as if absent.\n"
    yield "## `agents[slot]`\n"
    yield from table(names, [layout.agents for layout in layouts])
    yield "## `shared`\n"
    yield from table(names, [layout.shared for layout in layouts])
    yield "## `visible[slot]`\n\nThe agent is there and in sight. Slot 0, the learner, always is.\n"
    actions = ", ".join(f"{number} {name}" for number, name in enumerate(layouts[0].actions))
    yield f"## `legal[action]`\n\nThe action would have an effect. The actions are {actions}.\n"


def table(names: list[str], entries: list[tuple[Entry, ...]]) -> Iterator[str]:
    """One row an entry, one column of bounds a group of tasks."""
    if not entries[0]:
        yield "Empty.\n"
        return
    yield f"| | entry | {' | '.join(names) if len(names) > 1 else 'bounds'} | if absent |"
    yield "|---" * (len(names) + 3) + "|"
    for number, same in enumerate(zip(*entries, strict=True)):
        bounds = " | ".join(f"{spell(entry.low)} … {spell(entry.high)}" for entry in same)
        yield f"| {number} | {same[0].meaning} | {bounds} | {spell(same[0].absent)} |"
    yield ""


def spell(number: int | float) -> str:
    """A number for reading."""
    if number == 2 * math.pi:
        return "2π"
    return f"{number:.4g}".replace("-", "\N{MINUS SIGN}").replace("inf", "∞")


def write_pages(folder: Path) -> None:
    """All pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for world in TITLES:
        (folder / f"{world}.md").write_text(page(world))


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
