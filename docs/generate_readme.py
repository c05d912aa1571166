"""The README's tables and figure of results, from the runs in ``results/``.

``python docs/generate_readme.py`` writes them; the tests check that they are up to date.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from openteam.analysis.aggregate import aggregates
from openteam.analysis.compare import compare
from openteam.analysis.evidence import Evidence, stored_evidence
from openteam.analysis.targets import TARGETS
from openteam.commands.reproduction.products import iqm_csv
from openteam.commands.reproduction.tables import paper_sheet
from openteam.commands.sheets import as_markdown
from openteam.drawing.aggregates import draw_aggregates

ROOT = Path(__file__).parents[1]
README, FIGURE = ROOT / "README.md", ROOT / "docs" / "results.png"
RUNS = ("full-observability", "partial-observability")
TABLES = ("full", "partial")
BEGIN, END = "<!-- made by docs/generate_readme.py -->\n", "<!-- until here -->"


def stored() -> Evidence:
    """Of the two comparisons that were planned as such."""
    runs = [ROOT / "results" / name for name in RUNS]
    return stored_evidence(compare(runs), [TARGETS[name] for name in (*TABLES, "iqm")])


def section(evidence: Evidence) -> str:
    """What the README shows between its marks."""
    tables = [as_markdown(paper_sheet(TARGETS[name], evidence)).replace("## ", "### ", 1) for name in TABLES]
    seeds = " or ".join(map(str, sorted({len(group.runs) for group in evidence.of(TARGETS["iqm"])})))
    interval = "with its 95 % interval (bootstrap over seeds, stratified by team size)"
    caption = f"{TARGETS['iqm'].title}, {interval}; {seeds} seeds."
    return "\n".join([*tables, f"![{caption}](docs/results.png)\n\n{caption}\n"])


def digest(evidence: Evidence) -> str:
    """Of the numbers in the figure; it is written into the picture."""
    return hashlib.sha256(iqm_csv(TARGETS["iqm"], list(aggregates(TARGETS["iqm"], evidence))).encode()).hexdigest()


def replaced(readme: str, evidence: Evidence) -> str:
    """The README with the section as it should be."""
    before, rest = readme.split(BEGIN)
    return before + BEGIN + "\n" + section(evidence) + "\n" + END + rest.split(END, 1)[1]


def write() -> None:
    """Both files."""
    evidence, target = stored(), TARGETS["iqm"]
    README.write_text(replaced(README.read_text(), evidence))
    figure = draw_aggregates(list(aggregates(target, evidence)), target.tasks, target.rows)
    figure.savefig(FIGURE, dpi=90, metadata={"Description": digest(evidence)})


if __name__ == "__main__":
    write()
