"""The paper's values and curves: where they stand, at which steps, and with what caveat."""

from pathlib import Path

import pytest

import openteam
from openteam.analysis.compare import Group, Reading
from openteam.analysis.exploration import caveat
from openteam.analysis.labels import Label
from openteam.analysis.paper import published, published_at, published_curve, published_steps
from openteam.storage.config import to_json


@pytest.mark.parametrize(
    ("learner", "steps", "at", "expected"),
    [
        ("gpl-q", 6_400_000, 1_600_000, ""),  # as long as the published runs, with their schedule
        ("gpl-q", 1_600_000, 1_600_000, "ε 0.68 there, 0.05 here"),
        ("gpl-spi", 1_600_000, 1_600_000, "τ 0.67 there, 0.01 here"),
        ("gpl-q", 1_600_000, 0, ""),
        ("maddpg", 1_600_000, 1_600_000, "other exploration"),
    ],
)
def test_a_published_curve_stands_beside_a_run_with_the_exploration_of_both(learner, steps, at, expected):
    config = {"learner": to_json(openteam.make_algorithm(learner)), "settings": {"steps": steps}, "seed": 0}
    runs = (Reading(Path("run"), config, {"train": {at: 1.0}}),)
    assert caveat(Group(Label("lbf-released"), Label(learner), steps, True, runs), [at]) == expected


def test_the_papers_values_stand_beside_both_fidelities_but_fortattacks_only_beside_its_own_scale():
    assert published("lbf", "gpl-q", "larger") == published("lbf-released", "gpl-q", "larger") == (2.32, 0.22)
    assert published("fortattack-released", "gpl-spi", "larger") == (16.82, 1.92)
    assert published("fortattack", "gpl-spi", "larger") is None
    assert published("navigation-partial", "gpl-q", "unseen") == (0.07, 0.13)
    assert published("lbf", "gpl-q", "train") is None


def test_published_curves_stand_where_they_were_trained():
    assert published_curve("lbf", "ql-am", "train")[1:3] == [(0.8e6, 3.43), (1.6e6, 3.35)]
    assert published_curve("fortattack-released", "gpl-q", "train")[-1] == (16e6, 14.92)
    assert published_curve("wolfpack-released", "gnn", "train")[0] == (
        0.8e6,
        -3.92,
    )  # no checkpoint 0
    nowhere = (("lbf", "gpl-q", "larger"), ("lbf", "ciao-s", "train"), ("fortattack", "gpl-q", "train"))
    assert not any(published_curve(*place) for place in nowhere)


def test_published_curves_are_read_at_the_steps_of_ours():
    place = ("wolfpack-released", "gpl-q", "train")
    assert published_at(*place, [1_600_000]) == 12.42
    assert published_at(*place, [1_600_000, 3_200_000]) == pytest.approx((12.42 + 22.57) / 2)
    assert published_at(*place, [2_400_000]) == pytest.approx((12.42 + 22.57) / 2)
    assert published_at(*place, [7_000_000]) is None
    assert published_at("wolfpack-released", "gnn", "train", [0]) is None
    assert published_at("lbf", "ciao-s", "train", [100]) is None


def test_the_papers_values_stand_at_their_own_number_of_steps():
    assert [published_steps(name) for name in ("lbf-released", "fortattack-released")] == [6_400_000, 16_000_000]
    assert published_steps("fortattack") is None
