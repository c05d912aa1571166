"""What the paper found about returns, as differences that runs can show: some rows of a table above others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from openteam.analysis.evidence import Evidence
from openteam.analysis.targets import Target

Verdict = Literal["holds", "does not hold", "not decided", "not contradicted"]
GPL, QL, GNN, MARL = ("gpl-q", "gpl-spi"), ("ql", "ql-am"), ("gnn", "gnn-am"), ("dgn", "maddpg")
VAE_AE, PARTICLES = ("vae-gpl", "ae-gpl"), ("pf-gpl", "pf-gpl-5", "pf-gpl-1")
MANY = 1000  # runs a side; nobody trains more to decide a difference


@dataclasses.dataclass(frozen=True)
class Finding:
    """One sentence of the paper: in these worlds, runs of some rows return more than runs of others."""

    says: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    split: str
    worlds: tuple[str, ...] = ()
    """Parts of tasks' names; all worlds of the table if there are none."""
    is_more: bool = True
    """False: the paper says that the first do *not* return more."""


FINDINGS: dict[str, tuple[Finding, ...]] = {
    "full": (
        Finding("In training, agents of MARL return less than all others.", GPL + GNN + QL, MARL, "train"),
        Finding("In training, GNNs help: GNN and GNN-AM return more than QL and QL-AM.", GNN, QL, "train"),
        Finding("In training, GPL returns more than QL and QL-AM.", GPL, QL, "train"),
        Finding("In training, GPL returns more than GNN and GNN-AM.", GPL, GNN, "train"),
        Finding("An agent model alone does not help: QL-AM and GNN-AM return no more than QL and GNN.",
                ("ql-am", "gnn-am"), ("ql", "gnn"), "train", is_more=False),
        Finding("In larger teams, GNNs return more than QL and QL-AM.", GNN, QL, "larger"),
        Finding("In larger teams, GPL returns more than GNN and GNN-AM.", GPL, GNN, "larger"),
        Finding("In larger teams, GPL returns more than agents of MARL.", GPL, MARL, "larger"),
    ),
    "partial": (
        Finding("In training, VAE-GPL and AE-GPL return more than GPL-Q.", VAE_AE, ("gpl-q",), "train"),
        Finding("In training, VAE-GPL and AE-GPL return more than DVRL and PPO.", VAE_AE, ("dvrl", "ppo"), "train"),
        Finding("In training, VAE-GPL and AE-GPL return more than PF-GPL.", VAE_AE, PARTICLES, "train"),
        Finding("More particles help PF-GPL: ten return more than one.", ("pf-gpl",), ("pf-gpl-1",), "train",
                ("lbf", "wolfpack")),
        Finding("PPO returns more than PF-GPL.", ("ppo",), PARTICLES, "train"),
        Finding("In navigation, methods that reconstruct the state (VAE-GPL, AE-GPL, DVRL) return more than GPL-Q and "
                "PPO.", (*VAE_AE, "dvrl"), ("gpl-q", "ppo"), "train", ("navigation",)),
        Finding("In larger teams, VAE-GPL and AE-GPL return more than DVRL and PPO.", VAE_AE, ("dvrl", "ppo"),
                "larger"),
    ),
    "unseen": (
        Finding("With unseen teammates, VAE-GPL, AE-GPL and GPL-Q return more than DVRL and PPO.",
                (*VAE_AE, "gpl-q"), ("dvrl", "ppo"), "unseen"),
        Finding("With unseen teammates, VAE-GPL and AE-GPL return more than PF-GPL.", VAE_AE, PARTICLES, "unseen"),
    ),
}  # fmt: skip
"""By table of the paper, in the order of its text."""


@dataclasses.dataclass(frozen=True)
class Side:
    """The runs of some rows in one world."""

    scores: Float[np.ndarray, "runs"]
    """Their mean returns over the last quarter of the checkpoints."""
    lengths: tuple[int, ...]
    """How many steps they were trained for."""


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What the runs of one world say of a finding."""

    finding: Finding
    task: str
    above: Side
    below: Side

    @property
    def interval(self) -> tuple[float, float, float]:
        """The difference of means, and where its 95 % interval begins and ends (Welch)."""
        return welch_interval(self.above.scores, self.below.scores)

    @property
    def verdict(self) -> Verdict:
        """By the interval; a claim of no difference can only be contradicted, and other lengths decide nothing."""
        _, low, high = self.interval
        if self.above.lengths != self.below.lengths:
            return "not decided"
        if not self.finding.is_more:
            return "does not hold" if low > 0 else "not contradicted"
        return "holds" if low > 0 else "does not hold" if high < 0 else "not decided"

    @property
    def enough(self) -> int | None:
        """How many runs a side leave zero out if means and spreads stay; None if not even ``MANY``."""
        return runs_to_decide(self.above.scores, self.below.scores)


def judgements(target: Target, evidence: Evidence) -> Iterator[Judgement]:
    """Every finding about a table, in every world that has two runs or more of both sides."""
    for finding in FINDINGS.get(target.name, ()):
        for task in target.tasks:
            if not finding.worlds or any(world in task for world in finding.worlds):
                above, below = (side(rows, task, finding.split, evidence) for rows in (finding.above, finding.below))
                if min(len(above.scores), len(below.scores)) > 1:
                    yield Judgement(finding, task, above, below)


def side(rows: tuple[str, ...], task: str, split: str, evidence: Evidence) -> Side:
    """All runs of these rows that there are."""
    groups = [evidence.groups[task, row] for row in rows if (task, row) in evidence.groups]
    groups = [group for group in groups if split in group.splits]
    scores = [group.scores(split, "last-quarter") for group in groups]
    return Side(np.concatenate([np.zeros(0), *scores]), tuple(sorted({group.steps for group in groups})))


def welch_interval(ours: Float[np.ndarray, "_"], theirs: Float[np.ndarray, "_"]) -> tuple[float, float, float]:
    """The difference of means and its 95 % interval, of runs whose spreads may differ (Welch's t)."""
    one, other = (float(values.var(ddof=1)) / len(values) for values in (ours, theirs))
    mean = float(ours.mean() - theirs.mean())
    if one + other == 0:
        return mean, mean, mean
    freedom = (one + other) ** 2 / (one**2 / (len(ours) - 1) + other**2 / (len(theirs) - 1))
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(one + other)
    return mean, mean - half, mean + half


def runs_to_decide(ours: Float[np.ndarray, "_"], theirs: Float[np.ndarray, "_"]) -> int | None:
    """The smallest number of runs a side whose interval leaves zero out, if the spreads and the difference stay."""
    one, other = float(ours.var(ddof=1)), float(theirs.var(ddof=1))
    mean = abs(float(ours.mean() - theirs.mean()))
    if one + other == 0:
        return 2 if mean > 0 else None
    for runs in range(2, MANY + 1):
        freedom = (runs - 1) * (one + other) ** 2 / (one**2 + other**2)
        if float(stdtrit(freedom, 0.975)) * math.sqrt((one + other) / runs) < mean:
            return runs
    return None
