"""What the paper found, and what runs say of it: a line per finding and world."""

from __future__ import annotations

import csv
import io

from openteam.analysis.compare import millions
from openteam.analysis.evidence import Evidence
from openteam.analysis.findings import MANY, Judgement, judgements
from openteam.analysis.targets import Target
from openteam.commands.sheets import Sheet

HEAD = ["the paper's finding", "world", "difference", "runs", "verdict", "runs a side to decide"]
CAPTION = (
    "Difference: mean return of the runs of the first methods less that of the second, over the last quarter of the "
    "checkpoints, in brackets its 95 % interval over runs (Welch's t). A finding holds in a world if the interval is "
    "above zero, does not hold if it is below, and is not decided if it has zero in it, or if one side was trained "
    "longer than the other. That there is no difference can only be contradicted. The last column: from how many runs "
    "a side on the interval would leave zero out, if this difference and these spreads stayed."
)


def findings_sheet(target: Target, evidence: Evidence) -> Sheet | None:
    """A sentence of the paper in the first of its lines; None if no finding can be judged."""
    rows: list[list[str]] = []
    for one in judgements(target, evidence):
        says = "" if any(row[0] == one.finding.says for row in rows) else one.finding.says
        rows.append([says, one.task, difference(one), counts(one), one.verdict, wanted(one)])
    return Sheet(f"Findings: {target.title}", HEAD, rows, f"{evidence.note} {CAPTION}".strip()) if rows else None


def difference(one: Judgement) -> str:
    """``0.45 (0.09 to 0.81)``."""
    mean, low, high = one.interval
    return f"{mean:.2f} ({low:.2f} to {high:.2f})"


def counts(one: Judgement) -> str:
    """How many runs of either side, and how long they were trained if that differs."""
    runs = f"{len(one.above.scores)} and {len(one.below.scores)}"
    if one.above.lengths == one.below.lengths:
        return runs
    above, below = (", ".join(map(millions, side.lengths)) for side in (one.above, one.below))
    return f"{runs} ({above} and {below} steps)"


def wanted(one: Judgement) -> str:
    """How many runs would do where they do not yet; other runs where these cannot be compared."""
    if one.verdict != "not decided":
        return ""
    if one.above.lengths != one.below.lengths:
        return "equally long ones"
    return f"{one.enough}" if one.enough else f"more than {MANY}"


def findings_csv(target: Target, evidence: Evidence) -> str:
    """Numbers in full."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["finding", "task", "split", "above", "below", "difference", "low", "high", "verdict", "enough"])
    for one in judgements(target, evidence):
        finding = one.finding
        rows.writerow([
            finding.says, one.task, finding.split, " ".join(finding.above), " ".join(finding.below), *one.interval,
            one.verdict, one.enough,
        ])  # fmt: skip
    return file.getvalue()
