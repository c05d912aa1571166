"""The runs behind the numbers: a section for every group of seeds, which numbers link to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openteam.analysis.compare import Group, Reading, millions
from openteam.commands.reporting.elements import element, link_to, pairs, table, text
from openteam.errors import UserError
from openteam.storage.run_folder import RunFolder


def anchor(group: Group) -> str:
    """The same for all that have the same runs."""
    return f"runs-{abs(hash_of(group)):x}"


def hash_of(group: Group) -> int:
    """Of the paths of its runs; the same in every process."""
    import zlib

    return zlib.crc32("\n".join(str(run.path) for run in group.runs).encode())


def number_link(group: Group, shown: str) -> str:
    """A number that leads to its runs."""
    return element("a", text(shown), href=f"#{anchor(group)}")


def group_section(group: Group, page: Path) -> str:
    """Configuration, seeds, commits, machines and commands of runs that differ only in their seed."""
    abouts = [about_of(run) for run in group.runs]
    facts = [
        ("task", element("code", text(group.task))),
        ("algorithm", element("code", text(group.algorithm))),
        ("steps", text(millions(group.steps)) + ("" if group.finished else " (unfinished)")),
        (
            "evaluation",
            text(f"{group.runs[0].config['settings']['evaluation_episodes']} episodes per split and checkpoint"),
        ),
        ("machine", text(", ".join(dict.fromkeys(machine(about) for about in abouts)))),
        ("versions", text(versions(abouts[0]))),
    ]
    rows = [
        [text(run.config["seed"]), link_to(run.path, page), element("code", text(str(about.get("commit"))[:12])),
         text(readable(about.get("started", ""))), element("code", text(command(about)))]
        for run, about in zip(group.runs, abouts, strict=True)
    ]  # fmt: skip
    config = json.dumps({name: group.runs[0].config[name] for name in ("task", "learner", "settings")}, indent=1)
    title = f"{group.algorithm.name} on {group.task.name}, {millions(group.steps)} steps, {len(group.runs)} runs"
    behind = element(
        "div",
        pairs(facts),
        table(["seed", "run", "commit", "started", "command"], rows),
        element("details", element("summary", "Complete configuration"), element("pre", text(config))),
        id=anchor(group),
    )  # a link to what is inside opens it
    return element(
        "details", element("summary", element("b", text(title)), soft_changes(group)), behind, class_="group"
    )


def readable(moment: object) -> str:
    """``2026-11-16 04:00:16 UTC``."""
    return str(moment).replace("T", " ").replace("Z", " UTC")


def soft_changes(group: Group) -> str:
    """In what the task and the algorithm differ from those of their names."""
    changes = "; ".join(filter(None, (group.task.changes, group.algorithm.changes)))
    return element("small", text(f"other settings than today's: {changes}")) if changes else ""


def about_of(run: Reading) -> dict[str, Any]:
    """What a run says about where it was made; nothing if that cannot be read."""
    try:
        return RunFolder.open(run.path).about
    except UserError:
        return {}


def machine(about: dict[str, Any]) -> str:
    """``AMD EPYC, 2 cores``."""
    found = about.get("machine", {})
    return f"{found.get('cpu') or 'unknown processor'}, {found.get('cores', '?')} cores"


def versions(about: dict[str, Any]) -> str:
    """Of everything that numbers depend on."""
    return ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())


def command(about: dict[str, Any]) -> str:
    """As it was typed."""
    return shlex.join(map(str, about.get("command", [])))


def summary(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """What all runs have in common, or in which they differ."""
    runs = [run for group in groups for run in group.runs]
    abouts = [about_of(run) for run in runs]
    commits = dict.fromkeys(str(about.get("commit"))[:12] for about in abouts)
    seeds = sorted({run.config["seed"] for run in runs})
    return [
        ("runs", text(f"{len(runs)} in {len(groups)} groups that differ only in their seed")),
        ("seeds", text(", ".join(map(str, seeds)))),
        ("steps", text(f"{millions(sum(group.steps * len(group.runs) for group in groups))} in all")),
        ("commits", element("code", text(", ".join(commits)))),
        ("machines", text("; ".join(dict.fromkeys(map(machine, abouts))))),
    ]
