"""A comparison as tables: for the terminal, for a README, for a spreadsheet."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from openteam.analysis.compare import At, Comparison, Group, millions, overall
from openteam.analysis.exploration import caveat
from openteam.analysis.paper import published, published_at
from openteam.errors import UserError

RULE = ["released rule"]
WIDTHS = {"algorithm": 8, "the paper's": 13}
RULES: dict[At, str] = {
    "best": "at the checkpoint with the highest mean return on train over the seeds, as in the paper",
    "last": "at the last checkpoint",
    "last-quarter": "over the last quarter of the checkpoints",
}


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table before it is text or Markdown."""

    title: str
    head: list[str]
    rows: list[list[str]]
    caption: str


def sheets_of(comparison: Comparison, at: At, released: bool = False) -> list[Sheet]:
    """A table per task, with the released stop rule if wanted; one over all tasks if algorithms share several."""
    sheets = [task_sheet(task, comparison, at, released) for task in comparison.tasks]
    across = overall(comparison, at)
    if across:
        rows = [
            [one.split, one.algorithm, f"{one.tasks}", f"{one.scores}",
             f"{one.middle:.2f} ({one.low:.2f} to {one.high:.2f})"] for one in across
        ]  # fmt: skip
        caption = (
            "Interquartile mean over tasks and seeds and its 95 % interval (bootstrap, stratified by task). Scores are "
            "scaled per task: 0 is the lowest mean of those compared, 1 the highest."
        )
        sheets.append(Sheet("All tasks", ["split", "algorithm", "tasks", "scores", "scaled return"], rows, caption))
    return sheets


def task_sheet(task: str, comparison: Comparison, at: At, released: bool = False) -> Sheet:
    """A row per split and algorithm, with the paper's value if it has one."""
    rules = (False, True) if released else (False,)
    rows = [
        [split, group.shown, *(figure(*group.estimate(split, at, rule)) for rule in rules),
         paper_figure(group, split, at), *counts(group, at)]
        for split in comparison.splits(task)
        for group in comparison.tasks[task]
        if split in group.splits
    ]  # fmt: skip
    caption = (
        f"Mean return per episode of the frozen policy {RULES[at]}; ± half the 95 % interval over seeds (Student's t), "
        "which one seed does not have. The paper's values are over 8 seeds: on train the curve published with its "
        "code, at the same steps, in brackets how its exploration differs from ours there; elsewhere its tables, after "
        "all its steps."
    )
    if released:
        caption += (
            " Released rule: what the released code would report, which stops 16 environments once the first has "
            "finished 5 episodes, so that short episodes count more; resampled from the same episodes."
        )
    head = ["split", "algorithm", "return", *RULE[: int(released)], "the paper's", "seeds", "episodes", "checkpoint"]
    return Sheet(task, head, rows, caption)


def paper_figure(group: Group, split: str, at: At) -> str:
    """The paper's value, with a caveat where it has one, or a dash."""
    paper, note = paper_value(group, split, at), paper_caveat(group, split, at)
    return (figure(*paper) + (f" ({note})" if note else "")) if paper else "-"


def paper_caveat(group: Group, split: str, at: At) -> str:
    """How exploration differs where the paper's value is read off a learning curve; empty elsewhere."""
    name = (group.task.name, group.algorithm.name, split)
    read_off = published(*name) is None and published_at(*name, group.chosen(at)) is not None
    return caveat(group, group.chosen(at)) if read_off else ""


def paper_value(group: Group, split: str, at: At) -> tuple[float, float] | None:
    """Mean and half its 95 % interval out of the paper's tables, or else its curve's mean, which comes without one."""
    name = (group.task.name, group.algorithm.name, split)
    at_these_steps = published_at(*name, group.chosen(at))
    return published(*name) or (None if at_these_steps is None else (at_these_steps, math.nan))


def counts(group: Group, at: At) -> list[str]:
    """What is behind a figure: seeds, episodes over all of them, and the checkpoint."""
    steps = group.chosen(at)
    where = f"{steps[0] / 1e6:.4g}" if len(steps) == 1 else f"last {len(steps)}"
    return [
        seed_count(len(group.runs)),
        f"{group.episodes(at):,}",
        f"{where} / {millions(group.steps)}",
    ]


def seed_count(seeds: int) -> str:
    """One or two seeds, whose intervals are none or 12.7 standard errors, are said in words."""
    return {1: "one seed", 2: "two seeds"}.get(seeds, str(seeds))


def figure(mean: float, half: float) -> str:
    """``2.49 ± 0.08``, and never ``-0.00``."""
    mean = round(mean, 2) + 0.0
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"


def as_text(sheet: Sheet) -> Table:
    """For the terminal: a block per split; only names may be wrapped."""
    table = Table(
        title=sheet.title,
        caption=sheet.caption,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )
    for name in sheet.head:
        wraps = name in ("algorithm", "the paper's")
        table.add_column(name, no_wrap=not wraps, min_width=WIDTHS.get(name), overflow="fold")
    for row, following in zip(sheet.rows, [*sheet.rows[1:], [""]], strict=True):
        table.add_row(*row, end_section=row[0] != following[0])
    return table


def as_markdown(sheet: Sheet) -> str:
    """For a README."""
    lines = [sheet.head, ["---"] * len(sheet.head), *sheet.rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {sheet.title}\n\n{body}\n\n{sheet.caption}\n"


def as_csv(comparison: Comparison, at: At) -> str:
    """Numbers in full; fields that have no value are empty."""
    file = io.StringIO()
    head = (
        "task", "task_changes", "algorithm", "algorithm_changes", "split", "seeds", "steps", "finished", "at",
        "checkpoint", "episodes", "mean", "half_interval", "paper_mean", "paper_half_interval", "paper_caveat",
    )  # fmt: skip
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(head)
    for group in comparison.groups:
        for split in group.splits:
            estimates = [*group.estimate(split, at), *(paper_value(group, split, at) or (math.nan, math.nan))]
            rows.writerow([
                group.task.name, group.task.changes, group.algorithm.name, group.algorithm.changes, split,
                len(group.runs), group.steps, group.finished, at, group.chosen(at)[-1], group.episodes(at),
                *("" if math.isnan(value) else value for value in estimates), paper_caveat(group, split, at),
            ])  # fmt: skip
    return file.getvalue()


def rows_csv(rows: Iterable[dict[str, Any]], head: Sequence[str]) -> str:
    """Rows by the names of their columns; what a row does not have is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, list(head), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()


def write(path: Path, text: str) -> None:
    """A file the user asked for, in a new folder if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.") from None
