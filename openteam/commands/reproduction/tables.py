"""A table of the paper, ours beside theirs: for the terminal, a spreadsheet, LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from rich.console import Console

from openteam.analysis.compare import Group, millions
from openteam.analysis.evidence import Cell, Evidence, Place
from openteam.analysis.paper import published_steps
from openteam.analysis.targets import Target, row_title
from openteam.commands.sheets import Sheet, as_text, figure

MISSING = "missing"
HEAD = (
    "table", "task", "row", "split", "mean", "half_interval", "seeds", "seeds_wanted", "steps", "checkpoint",
    "paper_mean", "paper_half_interval", "note", "runs",
)  # fmt: skip
SPECIAL = {"±": r"$\pm$", "%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "\\": r"\textbackslash{}"}


def cells_of(target: Target, evidence: Evidence) -> list[list[Cell]]:
    """A list per row, a cell per task."""
    return [[evidence.cell(target, task, row) for task in target.tasks] for row in target.rows]


def paper_sheet(target: Target, evidence: Evidence) -> Sheet:
    """A row per algorithm; for each task our number with its seeds, and the paper's."""
    head = ["algorithm", *(name for task in target.tasks for name in (task, "the paper's"))]
    rows = [
        [row_title(row[0].row), *(text for cell in row for text in (ours(cell), theirs(cell)))]
        for row in cells_of(target, evidence)
    ]
    return Sheet(target.title, head, rows, caption_of(target, evidence))


def ours(cell: Cell) -> str:
    """``2.49 ± 0.08 (3)``, the number of seeds in brackets."""
    if cell.group is None or cell.estimate is None:
        return MISSING
    return f"{figure(*cell.estimate)} ({len(cell.group.runs)})"


def theirs(cell: Cell) -> str:
    """The paper's, or a dash where it has none."""
    return figure(*cell.paper) if cell.paper else "-"


def caption_of(target: Target, evidence: Evidence) -> str:
    """What the numbers are, and what was trained otherwise than in the paper."""
    places = evidence.places(target)
    lengths = [length for task in target.tasks if (length := length_on(task, places))]
    changed = any(group.task.changes or group.algorithm.changes for group in places.values())
    sentences = [
        evidence.note,
        f"Mean return per episode on {target.split}, at the checkpoint with the highest mean return on train, ± half "
        "its 95 % interval over seeds (Student's t), which one seed does not have; in brackets the number of seeds. "
        "The paper's values are over 8 seeds.",
        f"Trained for {', '.join(lengths)}." if lengths else "No run is finished yet.",
        "Some of these runs were made with other settings than today's presets have." if changed else "",
    ]
    return " ".join(filter(None, sentences))


def length_on(task: str, places: dict[Place, Group]) -> str:
    """``1.6M of the paper's 6.4M steps on lbf-released (0.8M: PF-GPL (10))``; empty without runs."""
    rows: dict[int, list[str]] = {}
    for (other, row), group in places.items():
        if other == task:
            rows.setdefault(group.steps, []).append(row_title(row))
    if not rows:
        return ""
    usual, papers = max(rows, key=lambda steps: len(rows[steps])), published_steps(task)
    others = [f"{millions(steps)}: {', '.join(names)}" for steps, names in rows.items() if steps != usual]
    of = f" of the paper's {millions(papers)}" if papers not in (None, usual) else ""
    return f"{millions(usual)}{of} steps on {task}" + (f" ({'; '.join(others)})" if others else "")


def sheet_text(sheet: Sheet) -> str:
    """As it is shown in a terminal that is wide enough."""
    console = Console(width=170, file=io.StringIO(), color_system=None)
    console.print(as_text(sheet))
    lines = console.file.getvalue().splitlines()  # pyright: ignore[reportAttributeAccessIssue]
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def sheet_latex(sheet: Sheet) -> str:
    """A table environment for booktabs."""
    columns = "l" + "r" * (len(sheet.head) - 1)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{escaped(sheet.title)}. {escaped(sheet.caption)}}}",
             rf"\begin{{tabular}}{{{columns}}}", r"\toprule", latex_row(sheet.head), r"\midrule",
             *map(latex_row, sheet.rows), r"\bottomrule", r"\end{tabular}", r"\end{table}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def latex_row(cells: Sequence[str]) -> str:
    """One line of a tabular."""
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """For LaTeX."""
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def cells_csv(target: Target, evidence: Evidence) -> str:
    """Numbers in full; what is missing has empty fields."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(HEAD)
    for cell in (cell for row in cells_of(target, evidence) for cell in row):
        group = cell.group
        known = [] if group is None else [len(group.runs), evidence.seeds, group.steps, group.chosen("best")[-1]]
        mean, half = cell.estimate or (None, None)
        rows.writerow([
            target.name, cell.task, cell.row, target.split, *map(number, (mean, half)),
            *(known or [0, evidence.seeds, None, None]), *map(number, cell.paper or (None, None)), evidence.note,
            " ".join(str(run.path) for run in group.runs) if group else "",
        ])  # fmt: skip
    return file.getvalue()


def number(value: float | None) -> str:
    """In full, or nothing."""
    return "" if value is None or math.isnan(value) else repr(value)
