"""A model card in Markdown, from what a run says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openteam.api import Run
from openteam.core.layout import Entry
from openteam.deploy.interface import Interface, interface_of
from openteam.host.task import HostTask
from openteam.storage.policies import policy_header
from openteam.task import Task

USE = """```python
import openteam

agent = openteam.Agent.load("{name}")
action = agent.act({{"me": [...], "drone-7": [...]}}, shared=[...])
```"""


def model_card(run: Run, picture: str | None) -> str:
    """What it is, what it was trained on, how well it does, how to use it, and what it is not good for."""
    folder, task = run.folder, run.task
    config, about, (_, header) = folder.config, folder.about, policy_header(folder.path)
    learner, interface = config["learner"]["class"].rpartition(":")[2], interface_of(task)
    versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
    return "\n\n".join(
        [
            f"# {learner} on {task.name}",
            f"An agent for open ad hoc teamwork: it joins a team of agents it has never met, whose members come and "
            f"go, and acts as one of them. Trained with openteam for {header['step']:,} steps, seed {config['seed']}.",
            "## Results",
            results(run),
            *([f"![Learning curves]({picture})"] if picture else []),
            "## What it was trained on",
            bullets(training(task)),
            "## What it sees and does",
            table(["x, per agent", "from", "to", "if absent"], features(interface, "agents")),
            table(["u, shared", "from", "to", "if absent"], features(interface, "shared")),
            f"Actions: {', '.join(f'{number} {name}' for number, name in enumerate(interface.actions))}.",
            "## Use",
            USE.format(name=f"{task.name}.openteam.zip"),
            "## Limits",
            bullets(limits(interface)),
            "## Made with",
            f"{versions or 'unknown versions'}; commit {about.get('commit') or 'unknown'}. Policy "
            f"{header['digest'][:16]}. `config.json` has every setting, `rows.npz` every evaluation episode.",
        ]
    ) + "\n"  # fmt: skip


def results(run: Run) -> str:
    """Returns of the last checkpoint by split."""
    if not run.folder.rows_of_checkpoints("episodes.jsonl"):
        return "It was not evaluated."
    rows = [
        [split, f"{played.mean:.3f}", f"± {played.interval:.3f}", str(len(played.returns)),
         f"{played.lengths.mean():.1f}"]
        for split, played in run.evaluation.items()
    ]  # fmt: skip
    heading = ["split", "mean return", "95 % interval over episodes", "episodes", "mean length"]
    return f"{table(heading, rows)}\n\nOf one run, at its last checkpoint. Other seeds may differ by more than that."


def training(task: Task | HostTask) -> list[str]:
    """The parts of the task in words."""
    if isinstance(task, HostTask):
        return [
            f"Environment: `{task.env}`, in plain Python, episodes of at most {task.horizon} steps.",
            f"Teams: at most {task.slots} agents, the learner, `{task.learner}`, included.",
            f"Splits: {', '.join(task.split_names)}; training is on `train` alone.",
        ]
    return [
        f"World: {type(task.world).__name__}, episodes of at most {task.horizon} steps.",
        f"Teams: {type(task.openness).__name__}, at most {task.slots} agents, the learner included.",
        f"Teammates: {', '.join(task.pool.names)}.",
        f"View: {type(task.view).__name__}.",
        f"Splits: {', '.join(task.split_names)}; training is on `train` alone.",
    ]


def limits(interface: Interface) -> list[str]:
    """What nobody should expect of it."""
    unseen = (
        "Somebody out of sight stays remembered until his slot is needed."
        if interface.keeps_unseen
        else "It was trained to see everybody who is there: whoever is not given counts as gone, and as new on return."
    )
    return [
        f"It knows teams of up to {interface.slots} agents from training, and was evaluated with up to "
        f"{interface.spec.max_agents}; beyond that nothing is known.",
        "It was trained with the teammates above. With others, people among them, nothing is known.",
        "Features must have the meaning, order and scale of the tables; it does not notice if they have not.",
        unseen,
        "It has learned a game. Nothing here makes it safe to control a machine near people.",
    ]


def features(interface: Interface, part: str) -> list[list[str]]:
    """The rows of a table of features."""
    layout = interface.layout
    if layout is None:
        count = interface.spec.agent_features if part == "agents" else interface.spec.shared_features
        return [[f"feature {number}", "?", "?", "?"] for number in range(count)]
    entries: Iterable[Entry] = getattr(layout, part)
    return [[entry.meaning, f"{entry.low:g}", f"{entry.high:g}", f"{entry.absent:g}"] for entry in entries]


def table(heading: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines: list[Any] = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)
