"""Normalised returns, and teams of other sizes."""

import dataclasses

import numpy as np
import pytest

from openteam.analysis.crossplay import RANDOM, alone, matrix_of
from openteam.analysis.team_sizes import learners_side, with_team_of
from openteam.errors import UserError
from openteam.openness import Lifetimes
from openteam.registry import make

PLACE = {"type": "H1", "split": "train", "size": 3}


def row(learner: str, kind: str, value: float | None, seed: int = 0) -> dict:
    return PLACE | {"learner": learner, "kind": kind, "seed": seed} | ({} if value is None else {"return": value})


def test_returns_are_normalised_between_random_and_the_best_of_runs_and_scripts():
    rows = [row(RANDOM, "random", 1.0), row("H1", "script", 3.0), row("H2", "script", 5.0),
            row("gpl-q", "run", 2.0, 0), row("gpl-q", "run", 4.0, 1), row("ql", "run", None)]  # fmt: skip
    matrix = matrix_of(rows)
    assert (matrix.best_names, matrix.best[0], matrix.random[0]) == (["H2"], 5.0, 1.0)
    np.testing.assert_allclose(matrix.normalised, [[0.5], [np.nan]])


def test_a_run_may_be_the_best_response():
    rows = [row(RANDOM, "random", 1.0), row("H1", "script", 3.0), row("gpl-q", "run", 6.0)]
    assert matrix_of(rows).best_names == ["gpl-q"]
    assert matrix_of(rows).normalised[0, 0] == 1


def test_where_nobody_is_better_than_random_there_is_no_scale():
    rows = [row(RANDOM, "random", 3.0), row("H1", "script", 3.0), row("gpl-q", "run", 2.0)]
    assert np.isnan(matrix_of(rows).normalised).all()


def test_only_one_type_is_left_in_the_pool():
    task = make("lbf")
    assert alone(task, "train", "H4").pool.families[0].number == task.pool.families[0].names.index("H4")
    with pytest.raises(UserError, match="no type 'H99'"):
        alone(task, "train", "H99")


def test_teams_of_three_and_five_are_the_tasks_own_and_others_keep_the_spare_teammates():
    task = make("lbf")
    assert with_team_of(task, 3) is task
    assert with_team_of(task, 5).openness == task.split("larger").openness
    larger, nine = task.split("larger").openness, with_team_of(task, 9).openness
    assert isinstance(larger, Lifetimes)
    assert isinstance(nine, Lifetimes)
    assert learners_side(nine) == 9
    assert nine.teammates - (nine.cap - 1) == larger.teammates - (larger.cap - 1)
    assert (
        dataclasses.replace(nine, cap=5, start_high=5, start_low=larger.start_low, teammates=larger.teammates) == larger
    )
