"""Write the pages of this folder: what is observed in each world, with bounds.

``python docs/observations/generate.py`` writes all of them.
"""

from __future__ import annotations

import math
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
    """The bounds that hold in all splits of a task."""
    if not isinstance(task.world, Documented):
        raise TypeError(f"{type(task.world).__name__} has no layout.")
    return task.world.layout(max(task.split(split).slots for split in task.split_names))


def page(world: str) -> str:
    """The page on the world of all tasks with names that begin with ``world``."""
    columns: dict[Layout, list[str]] = {}
    for name, build in TASKS.items():
        if name.split("-")[0] == world:
            columns.setdefault(layout_of(build()), []).append(f"`{name}`")
    return "\n".join(lines(TITLES[world], columns))


def lines(title: str, columns: dict[Layout, list[str]]) -> Iterator[str]:
    """The lines of the page. The layouts of the tasks differ only in bounds."""
    layouts, names = list(columns), [", ".join(names) for names in columns.values()]
    yield f"# {title}: the observation\n"
    yield "Made by `python docs/observations/generate.py` from what the code declares.\n"
    yield f"{layouts[0].note}\nNumbers are raw. Bounds hold in all splits of {', '.join(names)}."
    yield "What a [view](../views.md) hides looks as if absent.\n"
    yield "## `agents[slot]`\n"
    yield from table(names, [layout.agents for layout in layouts])
    yield "## `shared`\n"
    yield from table(names, [layout.shared for layout in layouts])
    yield "## `visible[slot]`\n\nThe agent is there and in sight. Slot 0, the learner, always is.\n"
    actions = ", ".join(f"{number} {name}" for number, name in enumerate(layouts[0].actions))
    yield f"## `legal[action]`\n\nThe action would have an effect. The actions are {actions}.\n"


def table(names: list[str], entries: list[tuple[Entry, ...]]) -> Iterator[str]:
    """One row per entry, one column of bounds per group of tasks."""
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
    """A number as people write it: π, ∞ and a real minus sign."""
    if number == 2 * math.pi:
        return "2π"
    return f"{number:.4g}".replace("-", "\N{MINUS SIGN}").replace("inf", "∞")


if __name__ == "__main__":
    for world in TITLES:
        Path(__file__).with_name(f"{world}.md").write_text(page(world))
