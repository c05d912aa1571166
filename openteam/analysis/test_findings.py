"""Verdicts on the paper's findings: by an interval that is scipy's, on runs that are made up."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from openteam.algorithms.presets import ALGORITHMS
from openteam.analysis.compare import Group, Reading
from openteam.analysis.evidence import Evidence
from openteam.analysis.findings import FINDINGS, MANY, judgements, runs_to_decide, welch_interval
from openteam.analysis.labels import Label
from openteam.analysis.targets import TARGETS
from openteam.commands.reproduction.findings import findings_csv, findings_sheet

FULL = TARGETS["full"]


def group(row: str, returns, steps: int = 100) -> Group:
    config = {"settings": {"steps": steps}}
    runs = tuple(
        Reading(Path(), config | {"seed": seed}, {split: {steps: each} for split in ("train", "larger")})
        for seed, each in enumerate(returns)
    )
    return Group(Label("lbf-released"), Label(row), steps, True, runs)


def evidence(**rows) -> Evidence:
    return Evidence({("lbf-released", row.replace("_", "-")): group(row, *given) for row, given in rows.items()})


def verdicts(found: Evidence) -> dict[str, str]:
    return {one.finding.says: one.verdict for one in judgements(FULL, found)}


def test_the_interval_is_welchs():
    chance = np.random.default_rng(0)
    ours, theirs = chance.normal(1, 2, 5), chance.normal(0, 1, 9)
    low, high = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    assert welch_interval(ours, theirs) == pytest.approx((ours.mean() - theirs.mean(), low, high))
    assert welch_interval(np.ones(2), np.zeros(2)) == (1, 1, 1)


def test_so_many_runs_decide_and_one_less_does_not():
    ours, theirs = np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0])
    runs = runs_to_decide(ours, theirs)

    def decided(count: int) -> bool:
        half = float(stats.t.ppf(0.975, (count - 1) * 25 / 17)) * (5 / count) ** 0.5  # variances 4 and 1
        return half < 1

    assert decided(runs)
    assert not decided(runs - 1)
    assert runs_to_decide(ours, ours) is None
    assert (runs_to_decide(np.ones(2), np.zeros(2)), runs_to_decide(np.ones(2), np.ones(2))) == (2, None)


def test_a_finding_holds_is_contradicted_or_is_not_decided():
    above, below, wide = ([5.0, 5.1, 5.2],), ([1.0, 1.1, 1.2],), ([-9.0, 1.0, 9.0],)
    name = "In training, GPL returns more than QL and QL-AM."
    assert verdicts(evidence(gpl_q=above, ql=below))[name] == "holds"
    assert verdicts(evidence(gpl_q=below, ql=above))[name] == "does not hold"
    assert verdicts(evidence(gpl_q=wide, ql=below))[name] == "not decided"
    assert name not in verdicts(evidence(gpl_q=above))
    assert name not in verdicts(evidence(gpl_q=above, ql=([1.0],)))


def test_that_something_does_not_help_can_only_be_contradicted():
    (name,) = (one.says for one in FINDINGS["full"] if not one.is_more)
    better, worse = ([2.0, 2.1],), ([1.0, 1.1],)
    assert verdicts(evidence(ql_am=better, ql=worse))[name] == "does not hold"
    assert verdicts(evidence(ql_am=worse, ql=better))[name] == "not contradicted"


def test_runs_of_different_lengths_decide_nothing():
    found = evidence(gpl_q=([5.0, 5.1], 200), ql=([1.0, 1.1], 100))
    rows = {row[0]: row[3:] for row in findings_sheet(FULL, found).rows}
    lengths = "2 and 2 (0.0002M and 0.0001M steps)"
    assert rows["In training, GPL returns more than QL and QL-AM."] == [lengths, "not decided", "equally long ones"]


def test_a_line_per_finding_and_world_with_as_many_runs_as_would_decide_it():
    found = evidence(gpl_q=([1.0, 2.0, 3.0],), ql=([1.0, 2.0, 3.0],), gnn=([0.5, 1.5, 2.8],))
    rows = [row for row in findings_sheet(FULL, found).rows if row[0].endswith("GPL returns more than QL and QL-AM.")]
    assert [row[1:] for row in rows] == [
        ["lbf-released", "0.00 (-2.27 to 2.27)", "3 and 3", "not decided", f"more than {MANY}"]
    ]
    assert len(findings_csv(FULL, found).splitlines()) == 1 + len(verdicts(found))


def test_without_runs_there_is_no_table():
    assert findings_sheet(FULL, evidence()) is None


@pytest.mark.parametrize(("table", "finding"), [(table, one) for table, each in FINDINGS.items() for one in each])
def test_findings_are_about_rows_of_their_table(table, finding):
    rows = {*finding.above, *finding.below}
    assert rows <= set(TARGETS[table].rows) <= {*ALGORITHMS}
    assert not {*finding.above} & {*finding.below}
    assert all(any(world in task for task in TARGETS[table].tasks) for world in finding.worlds)
