"""The README's tables and figure of results, and the verdicts of docs/findings.md, from the runs in ``results/``.

``python docs/generate_readme.py`` writes them; the tests check that they are up to date.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from openteam.analysis.aggregate import aggregates
from openteam.analysis.compare import compare
from openteam.analysis.evidence import Evidence, stored_evidence
from openteam.analysis.targets import TARGETS
from openteam.commands.reproduction.findings import findings_sheet
from openteam.commands.reproduction.products import iqm_csv
from openteam.commands.reproduction.tables import paper_sheet
from openteam.commands.sheets import Sheet, as_markdown
from openteam.drawing.aggregates import draw_aggregates

ROOT = Path(__file__).parents[1]
README, FIGURE, FINDINGS = ROOT / "README.md", ROOT / "docs" / "results.png", ROOT / "docs" / "findings.md"
RUNS = ("full-observability", "partial-observability")
TABLES = ("full", "partial")
JUDGED = (*TABLES, "unseen")
BEGIN, END = "<!-- made by docs/generate_readme.py -->\n", "<!-- until here -->"


def stored() -> Evidence:
    """Of the two comparisons that were planned as such."""
    runs = [ROOT / "results" / name for name in RUNS]
    return stored_evidence(compare(runs), [TARGETS[name] for name in (*JUDGED, "iqm")])


def section(evidence: Evidence) -> str:
    """What the README shows between its marks."""
    tables = [below_heading(paper_sheet(TARGETS[name], evidence)) for name in TABLES]
    seeds = " or ".join(map(str, sorted({len(group.runs) for group in evidence.of(TARGETS["iqm"])})))
    interval = "with its 95 % interval (bootstrap over seeds, stratified by team size)"
    caption = f"{TARGETS['iqm'].title}, {interval}; {seeds} seeds."
    return "\n".join([*tables, f"![{caption}](docs/results.png)\n\n{caption}\n"])


def digest(evidence: Evidence) -> str:
    """Of the numbers in the figure; it is written into the picture."""
    return hashlib.sha256(iqm_csv(TARGETS["iqm"], list(aggregates(TARGETS["iqm"], evidence))).encode()).hexdigest()


def verdicts(evidence: Evidence) -> str:
    """What the page of findings shows between its marks; what the columns are is said once."""
    sheets = [sheet for name in JUDGED if (sheet := findings_sheet(TARGETS[name], evidence)) is not None]
    untitled = [dataclasses.replace(sheet, caption="") for sheet in sheets]
    return "\n".join([f"{sheets[0].caption}\n", *map(below_heading, untitled)])


def below_heading(sheet: Sheet) -> str:
    """As Markdown, with a heading of the third order."""
    return as_markdown(sheet).replace("## ", "### ", 1)


def replaced(page: str, section: str) -> str:
    """The page with the section as it should be."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + section + "\n" + END + rest.split(END, 1)[1]


def pages(evidence: Evidence) -> dict[Path, str]:
    """Both pages as they should be."""
    wanted = {README: section(evidence), FINDINGS: verdicts(evidence)}
    return {path: replaced(path.read_text(), section) for path, section in wanted.items()}


def write() -> None:
    """The pages and the figure."""
    evidence, target = stored(), TARGETS["iqm"]
    for path, page in pages(evidence).items():
        path.write_text(page)
    figure = draw_aggregates(list(aggregates(target, evidence)), target.tasks, target.rows)
    figure.savefig(FIGURE, dpi=90, metadata={"Description": digest(evidence)})


if __name__ == "__main__":
    write()
