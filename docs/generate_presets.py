"""Write presets.md: every row of the paper's tables, the presets for it, and where each of their settings is from.

``python docs/generate_presets.py`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

import openteam
from openteam.analysis.paper import tables
from openteam.analysis.preset_sources import GPL_PARTIAL, SOURCES, TASK_SOURCES, source
from openteam.analysis.targets import released, row_title
from openteam.storage.config import to_json

PAGE = Path(__file__).with_name("presets.md")
NAMELESS = ("class", "sha256", "name")
"""What a configuration says besides settings."""
OPENING = """# The paper's conditions

Made by `python docs/generate_presets.py` from the presets themselves.

Every row of the paper's three tables has a preset for its task and one for its algorithm. Names that end in `-released`
follow the released code, or where there is none (QL, QL-AM, GNN, GNN-AM, DGN, MADDPG, PPO, DVRL) the source that is
named. An algorithm's preset may depend on its task. `openteam train fortattack-released gpl-q-released` prints what it
set and flags such as `--algorithm.hidden 64` change that; plans and `openteam.train("fortattack-released",
"gpl-q-released")` do the same, and the run folder holds all values.

**G** is the repository uoe-agents/GPL (83bf42d), `*` its folders `Open_Experiments/{LBF,Wolfpack,FortAttack}`; **P** is
uoe-agents/PO-GPL (bbd37e0), folder `GPL`. **DGN** is PKU-RL/DGN, **MADDPG** openai/maddpg, **EPyMARL**
uoe-agents/epymarl, **DVRL** maximilianigl/DVRL.
"""
SPLITS = """In foraging the published evaluation fits episodes that start with two to five agents (`larger`); the
released script starts with five (split `five`).
"""
EDGES = """## Pairs of agents

| | largest team of the task and its splits | pairwise utilities |
|---|---|---|
| `gpl-*`, `ciao-*`, `ae-gpl*`, `vae-gpl*`, `pf-gpl*` | up to ten | `PerEdge(6)`; released on grids `PerEdge(5)` |
| the same | more than ten | `Factored(5)`, linear in the team |
| `gpl-q-factored` | any | `Factored(5)` |

`GPL()`, `BeliefGPL()`, `CoordinationGraph()`, `Star()` and `Signed()` in Python have `PerEdge(6)`, whatever the task:
give large teams `CoordinationGraph(Factored())`.
"""
HEADS = """## Heads of the same size

Parameters of what turns types into values, in brackets of everything. GPL's sizes are released. The widths of the heads
of QL, QL-AM, GNN and GNN-AM are chosen to match it within 4 %; type inference and agent model are GPL's. DGN and MADDPG
have neither types nor memory.
"""


def settings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """All settings of a configuration by dotted name; of a part, first its class. A schedule is one setting."""
    if isinstance(value, dict) and value.get("class") == "openteam:Schedule":
        yield name, f"{value['first']:g} to {value['last']:g} over {value['fraction']:.0%} of the run"
    elif isinstance(value, dict):
        if "class" in value:
            yield name, value["class"].removeprefix("openteam:")
        for inner, item in value.items():
            if inner not in NAMELESS:
                yield from settings(item, f"{name}.{inner}" if name else inner)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from settings(item, f"{name}.{number}")
    else:
        yield name, spell(value)


def spell(value: Any) -> str:
    """A value in a cell."""
    if isinstance(value, list):
        return ", ".join(map(spell, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING, *rows(), EDGES, *parameters(), *algorithms(), *tasks()])


def rows() -> Iterator[str]:
    """The paper's tables with presets in place of numbers."""
    yield "## Rows of the paper's tables\n"
    for table in tables():
        names = [released(task) for task in table["tasks"]]
        yield f"**{table['name']}**: split `{table['split']}`, the checkpoint with the best mean on `train`, 8 seeds.\n"
        columns = [f"`{name}`, {steps / 1e6:g}M steps" for name, steps in zip(names, table["steps"], strict=True)]
        yield f"| row | {' | '.join(columns)} |"
        yield "|---" * (len(names) + 1) + "|"
        for row in table["values"]:
            yield f"| {row_title(row)} |" + f" `{released(row)}` |" * len(names)
        yield ""
    yield SPLITS


def parameters() -> Iterator[str]:
    """How large the heads are."""
    table = tables()[0]
    chosen = [openteam.make(released(task)) for task in table["tasks"]]
    yield HEADS
    yield f"| | {' | '.join(f'`{task.name}`' for task in chosen)} |"
    yield "|---" * (len(chosen) + 1) + "|"
    for row in table["values"]:
        yield f"| `{released(row)}` | {' | '.join(count(released(row), task) for task in chosen)} |"
    yield ""


def count(name: str, task: openteam.Task) -> str:
    """Parameters of an algorithm's head, and of everything."""
    model = eqx.filter_eval_shape(openteam.make_algorithm(name, task).init, jax.random.key(0), task.spec).model
    value = getattr(model, "value", None)
    head = getattr(value, "head", None) or getattr(value, "values", None)

    def size(tree: Any) -> int:
        return sum(leaf.size for leaf in jax.tree.leaves(tree))

    return f"({size(model):,})" if head is None else f"{size(head):,} ({size(model):,})"


def algorithms() -> Iterator[str]:
    """The settings of every row's algorithm."""
    full, partial, _ = tables()
    for title, table in (("full", full), ("partial", partial)):
        yield f"## Algorithms under {title} observability\n"
        chosen = [openteam.make(released(task)) for task in table["tasks"]]
        for row in table["values"]:
            sources = GPL_PARTIAL if (title, row) == ("partial", "gpl-q") else SOURCES[row]
            learners = [to_json(openteam.make_algorithm(released(row), task)) for task in chosen]
            yield f"### {row_title(row)}: `{released(row)}`\n"
            if row.startswith("pf-gpl-"):
                particles = dict(settings(learners[0]))["belief.particles"]
                yield f"As `pf-gpl-released`, with `belief.particles` {particles} ({sources['belief.particles']}).\n"
            else:
                yield from compared([task.name for task in chosen], learners, sources)


def compared(tasks: list[str], learners: list[Any], sources: dict[str, str]) -> Iterator[str]:
    """A table of settings; one column if no task has another value."""
    values = [dict(settings(learner)) for learner in learners]
    same = all(value == values[0] for value in values)
    yield f"| setting | {'value' if same else ' | '.join(f'`{task}`' for task in tasks)} | source |"
    yield "|---" * (3 if same else len(tasks) + 2) + "|"
    for name in values[0]:
        if name:  # the algorithm itself
            cells = values[:1] if same else values
            yield f"| `{name}` | {' | '.join(value[name] for value in cells)} | {source(sources, name)} |"
    yield ""


def tasks() -> Iterator[str]:
    """The settings of every task, those of one part in a row."""
    yield "## Tasks\n"
    for name, sources in TASK_SOURCES.items():
        yield f"### `{name}`\n"
        yield "| part | settings | source |\n|---|---|---|"
        for part, values in in_parts(to_json(openteam.make(name))):
            yield f"| `{part}` | {values} | {source(sources, part)} |"
        yield ""


def in_parts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every part of a task with its class and its own settings; settings of the task itself stand alone."""
    if isinstance(value, list):
        value = {str(number): item for number, item in enumerate(value)}
    items = {inner: item for inner, item in value.items() if inner not in NAMELESS}
    inside = {inner: item for inner, item in items.items() if isinstance(item, dict) or inner == "families"}
    plain = {inner: spell(item) for inner, item in items.items() if inner not in inside}
    if not name:
        yield from plain.items()
    elif "class" in value:
        own = (f"{inner} {text}" for inner, text in plain.items())
        yield name, ", ".join([value["class"].removeprefix("openteam:"), *own])
    for inner, item in inside.items():
        yield from in_parts(item, f"{name}.{inner}" if name else inner)


if __name__ == "__main__":
    PAGE.write_text(page())
