"""The page: tables of the paper, figures, all comparisons, and the runs behind them."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from openteam.analysis.aggregate import aggregates
from openteam.analysis.compare import Comparison, Group, compare, millions
from openteam.analysis.evidence import Cell, Evidence, stored_evidence
from openteam.analysis.targets import TARGETS, Target, row_title
from openteam.commands.reporting.elements import element, pairs, picture, table, text
from openteam.commands.reporting.groups import group_section, number_link, summary
from openteam.commands.reproduction.findings import findings_sheet
from openteam.commands.reproduction.tables import MISSING, caption_of, cells_of, theirs
from openteam.commands.reproduction.writing import LIST
from openteam.commands.sheets import RULES, counts, figure, paper_caveat, paper_value
from openteam.drawing.aggregates import draw_aggregates
from openteam.drawing.compare_curves import draw_task
from openteam.errors import UserError

TABLES = ("full", "partial", "unseen")
LEAD = (
    "A learner acts in a team that it did not train with, whose members come and go without notice. Numbers are its "
    "mean return: the sum of its rewards in an episode. More is better; how much there is to get differs from task to "
    "task. Splits are conditions: train, what it learned in; larger, with larger teams; five, with teams that begin "
    "with five; unseen, with teammates of types that it never met."
)
CURVES = (
    "Mean return per episode on train while learning, over seeds. Thin lines are single seeds, bands 95 % intervals, "
    "drawn where few lines share a picture. Circles: the paper's curves; those on grey stand for all its steps, which "
    "are more than ours."
)
PAPERS = (
    "The paper's: on train its published learning curve at the same step, below it how much it still explored "
    "there (ε, or the temperature τ) and ours here; elsewhere its tables, after all its steps."
)
COUNTED = ("seeds", "episodes per split", "steps at best checkpoint")
SECTIONS = {"tables": "The paper's tables", "figures": "Figures", "all": "All comparisons", "runs": "Runs"}


def make_page(folder: Path, page: Path) -> str:
    """The whole report on all runs below a folder; ``page`` is where it will be."""
    made = reproduction(folder)
    comparison = compare(sources(folder, made))
    if not comparison.groups:
        raise UserError(f"None of the runs in {folder} has an evaluated checkpoint.")
    evidence = stored_evidence(comparison, TARGETS.values(), str(made.get("note", "")))
    body = [
        *opening(folder, comparison, made),
        heading("tables"), *paper_tables(evidence),
        heading("figures"), *(stored_figures(folder, made) if made else drawn_figures(evidence)),
        heading("all"), *all_comparisons(comparison),
        heading("runs"), *(group_section(group, page) for group in comparison.groups), *left_out(comparison),
    ]  # fmt: skip
    style = files("openteam.commands.reporting").joinpath("style.css").read_text()
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>openteam: {text(folder)}</title>{element('style', style)}"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def reproduction(folder: Path) -> dict[str, Any]:
    """What ``openteam reproduce`` says that it wrote into this folder; empty for a folder of runs."""
    path = folder / LIST
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError):
        raise UserError(f"{path} is damaged: it is no JSON. Run openteam reproduce again, or remove it.") from None
    return found if isinstance(found, dict) else {}


def sources(folder: Path, made: dict[str, Any]) -> list[Path]:
    """Where the runs are: below the folder, or where ``openteam reproduce --runs`` took them from."""
    return [Path(path) for path in made.get("runs", [])] or [folder]


def heading(name: str) -> str:
    """One of the page's sections."""
    return element("h2", text(SECTIONS[name]), id=name)


def opening(folder: Path, comparison: Comparison, made: dict[str, Any]) -> Iterator[str]:
    """Title, warning, contents, and what the runs have in common."""
    yield element("h1", text(f"Open ad hoc teamwork: runs in {folder}"))
    yield element("p", LEAD)
    if made.get("note"):
        yield element("p", text(made["note"]), class_="warn")
    yield element("nav", *(element("a", text(title), href=f"#{name}") for name, title in SECTIONS.items()))
    facts = summary(comparison.groups)
    if made:
        facts.append(("command", element("code", text(" ".join(map(str, made.get("command", [])))))))
    yield pairs(facts)
    yield element(
        "p",
        "Every number links to the runs behind it: their configuration, seeds, commit, machine and command. ± is half "
        "the 95 % interval over seeds (Student's t), which two seeds make very wide and one does not have. Bold is the "
        "highest mean of a column, whether or not intervals overlap. What was not trained is missing, not zero.",
        class_="caption",
    )


def paper_tables(evidence: Evidence) -> Iterator[str]:
    """Those of which there is at least one number."""
    shown = [TARGETS[name] for name in TABLES if evidence.of(TARGETS[name])]
    for target in shown:
        yield element("h3", text(target.title))
        head = ["algorithm", *(name for task in target.tasks for name in (task, "the paper's"))]
        rows = cells_of(target, evidence)
        best = [max(found, default=math.nan) for found in columns(rows)]
        yield table(head, (paper_row(row, best) for row in rows))
        yield element("p", text(caption_of(target, evidence)), class_="caption")
        yield from findings(target, evidence)
    if not shown:
        yield element("p", "None of these runs belongs to a table of the paper.", class_="soft")


def findings(target: Target, evidence: Evidence) -> Iterator[str]:
    """What the paper concludes from a table, and what these runs say of it."""
    sheet = findings_sheet(target, evidence)
    if sheet is not None:
        rows = [[text(says), *(element("td", text(cell), class_="number") for cell in cells)]
                for says, *cells in sheet.rows]  # fmt: skip
        yield table(sheet.head, rows)
        yield element("p", text(sheet.caption), class_="caption")


def columns(rows: Sequence[Sequence[Cell]]) -> list[list[float]]:
    """Our means, task by task."""
    return [[cell.estimate[0] for cell in column if cell.estimate] for column in zip(*rows, strict=True)]


def paper_row(row: Sequence[Cell], best: Sequence[float]) -> list[str]:
    """The algorithm, and for each task our number, the highest in bold, and the paper's."""
    cells = [text(row_title(row[0].row))]
    for cell, highest in zip(row, best, strict=True):
        if cell.group is None or cell.estimate is None:
            cells.append(element("td", MISSING, class_="missing"))
        else:
            number = f"{figure(*cell.estimate)} ({len(cell.group.runs)})"
            kind = "number best" if cell.estimate[0] == highest else "number"
            cells.append(element("td", number_link(cell.group, number), class_=kind))
        cells.append(element("td", text(theirs(cell)), class_="number paper"))
    return cells


def stored_figures(folder: Path, made: dict[str, Any]) -> Iterator[str]:
    """The pictures that ``openteam reproduce`` drew, and what it could not draw."""
    for one in made.get("written", []):
        if one["kind"] == "missing":
            yield element("p", text(f"{one['title']}: missing. {one['why']}"), class_="missing")
        for name in one["files"] if one["kind"] == "figure" else []:
            path = (folder / name).resolve()
            if path.suffix == ".svg" and path.is_relative_to(folder.resolve()) and path.is_file():
                yield picture(path.read_bytes(), ".svg", one["title"])


def drawn_figures(evidence: Evidence) -> Iterator[str]:
    """Learning curves of the paper's comparisons, and the aggregated figure, as far as there are runs."""
    curves = list(drawn_curves(evidence))
    if curves:
        yield element("p", CURVES, class_="caption")
        yield element("div", *curves, class_="pictures")
    yield from drawn_aggregates(TARGETS["iqm"], evidence)


def drawn_curves(evidence: Evidence) -> Iterator[str]:
    """A picture per task of the paper's two comparisons."""
    for target in (TARGETS["full"], TARGETS["partial"]):
        for task in target.tasks:
            groups = [group for group in evidence.of(target) if group.task.name == task]
            if groups:
                title = f"{target.title.replace('(testing)', '(training)')}: {task}"
                yield picture(as_svg(draw_task(task, groups, ["train"])), ".svg", title)


def drawn_aggregates(target: Target, evidence: Evidence) -> Iterator[str]:
    """The paper's figure of interquartile means."""
    found = list(aggregates(target, evidence))
    if found:
        title = f"{target.title}: a line for the mean, a bar for its 95 % interval (bootstrap over seeds)"
        yield picture(as_svg(draw_aggregates(found, target.tasks, target.rows)), ".svg", title)


def as_svg(figure: Any) -> bytes:
    """A matplotlib figure, without the moment at which it was drawn."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def all_comparisons(comparison: Comparison) -> Iterator[str]:
    """A table per task, a row per group with all its splits."""
    yield element("p", text(f"Mean return per episode {RULES['best']}. {PAPERS}"), class_="caption")
    for task, groups in comparison.tasks.items():
        yield element("h3", text(groups[0].task.name))
        if changes := groups[0].task.changes:
            yield element("p", text(f"Other settings than today's {groups[0].task.name}: {changes}"), class_="caption")
        columns = [
            (split, name)
            for split in comparison.splits(task)
            for name in (split, "the paper's")
            if name == split or any(paper_value(group, split, "best") for group in groups)
        ]
        head = ["algorithm", *(name for _, name in columns), *COUNTED]
        yield table(head, [comparison_row(group, columns) for group in groups])


def comparison_row(group: Group, columns: Sequence[tuple[str, str]]) -> list[str]:
    """The algorithm, ours and the paper's return on every split, and what is behind ours."""
    name = group.shown.replace(str(group.algorithm), group.algorithm.name, 1)
    cells = [text(name) + small(group.algorithm.changes)]
    cells += [ours(group, split) if split == name else papers(group, split) for split, name in columns]
    seeds, episodes, _ = counts(group, "best")
    chosen = f"{millions(group.chosen('best')[0])} of {millions(group.steps)}"
    return [*cells, *(element("td", text(word), class_="number") for word in (seeds, episodes, chosen))]


def ours(group: Group, split: str) -> str:
    """Our return, which leads to its runs."""
    if split not in group.splits:
        return element("td", MISSING, class_="missing")
    return element("td", number_link(group, figure(*group.estimate(split, "best"))), class_="number")


def papers(group: Group, split: str) -> str:
    """The paper's return, and how its exploration differs."""
    found = paper_value(group, split, "best")
    shown = text(figure(*found)) + small(paper_caveat(group, split, "best")) if found else "-"
    return element("td", shown, class_="number paper")


def small(words: str) -> str:
    """A remark below a cell's content."""
    return element("small", text(words)) if words else ""


def left_out(comparison: Comparison) -> Iterator[str]:
    """Runs that are in no table, and why."""
    if comparison.left_out:
        yield element("h3", "Left out")
        yield element("ul", *(element("li", text(sentence)) for sentence in comparison.left_out))
