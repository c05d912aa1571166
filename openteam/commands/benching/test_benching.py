from __future__ import annotations

import pytest
from rich.console import Console

from openteam.bench.processes import in_parallel
from openteam.bench.teams import TeamCost
from openteam.bench.training import TrainingSpeed
from openteam.commands.bench import Bench
from openteam.commands.benching.session import FULL, PARTIAL, Session, measured
from openteam.commands.benching.teams import grows, team_cells
from openteam.commands.benching.training import beside_released, released, training_cells
from openteam.errors import UserError
from openteam.execution.processes import cores as allowed_cores

SPEED = TrainingSpeed(
    training=8e3, collecting=33e3, cold_seconds=25.0, cached_seconds=5.0, peak_megabytes=900.0, megabytes=12.0,
    megaflop=6.0, products_seconds=75e-6, matmul_gigaflops=85.0,
)  # fmt: skip


def session_of(**flags) -> Session:
    return Session(Bench(**flags), Console(), [0], {})


def test_what_is_compared_on_a_task_of_this_kind_is_measured():
    bench = Bench(algorithms=("all",))
    assert [measured(bench, task) for task in ("lbf-released", "lbf-partial-released")] == [FULL, PARTIAL]
    assert measured(Bench(algorithms=("ql",)), "lbf-released") == ("ql",)


def test_a_row_stands_beside_gpl_q_and_the_released_code():
    cells = training_cells("lbf-released", "gpl-q", SPEED, peer=4e3)
    assert cells[:2] == ["8,000", "2.00"]
    assert cells[-1] == "28-39 (56-78)"  # 206 to 287 steps/s; 170 GFLOP/s are twice the 85 of this machine
    assert training_cells("lbf-released", "ql", SPEED, peer=None)[1::6] == ["-", "-"]


def test_a_row_says_how_much_of_a_step_its_products_alone_would_take():
    assert training_cells("lbf-released", "ql", SPEED, peer=None)[4] == "60% (80)"  # 75 of 125 microseconds, 6 MFLOP


@pytest.mark.parametrize(("task", "algorithm", "expected"), [
    ("lbf", "gpl-q", [("lbf-released", "gpl-q-released")]),
    ("wolfpack-released", "ql", [("wolfpack-released", "ql-released")]),
    ("lbf-partial-released", "pf-gpl-5", [("lbf-partial-released", "pf-gpl-5-released")]),
    ("lbf", "ciao-c", []),
    ("lbf", "gpl-q-released", []),
])  # fmt: skip
def test_released_sizes_are_measured_on_the_released_task(task, algorithm, expected):
    assert released(session_of(), task, algorithm) == expected
    assert released(session_of(parts=("training",)), task, algorithm) == []


@pytest.mark.parametrize(
    ("algorithm", "expected"), [("ae-gpl", "52-54 (105-108)"), ("ae-gpl-released", "52-54 (105-108)"), ("ppo", "-")]
)
def test_released_figures_are_those_of_the_algorithm_by_either_name(algorithm, expected):
    assert beside_released("lbf-partial-released", algorithm, SPEED.training, SPEED.matmul_gigaflops) == expected


def test_figures_are_kept_as_soon_as_they_are_known(tmp_path):
    file = tmp_path / "new" / "figures.json"
    session_of(json=file).add("training", {"steps_per_second": 8000.0})
    assert '"steps_per_second": 8000.0' in file.read_text()


def test_a_team_that_does_not_fit_into_memory_is_no_number():
    costs = [TeamCost(n, us, 50.0, 1e3, 2e3) for n, us in ((100, 1e3), (300, 9e3), (1000, float("nan")))]
    assert team_cells(costs[0])[1:4] == ["1,000", "10.0", "50"]
    assert team_cells(costs[2])[1:3] == ["does not fit", "-"]
    assert grows(costs) == "\nmeasured: n^2.0"
    assert grows(costs[1:]) == ""


def test_processes_at_once_each_bring_a_figure_or_what_went_wrong():
    assert in_parallel(int, ("7",), 2, allowed_cores()) == [7, 7]
    with pytest.raises(ValueError, match="seven"):
        in_parallel(int, ("seven",), 1, allowed_cores())


@pytest.mark.parametrize(("flags", "sentence"), [
    ({"processes": 0}, "got 0"),
    ({"parts": ()}, "something after --parts"),
    ({"parts": ("released",)}, "--parts training released"),
    ({"algorithms": ("all", "ql")}, "name no others"),
    ({"parts": ("devices",), "devices": (1, 3)}, "16 environments cannot be spread evenly over 3"),
    ({"team_sizes": (1,)}, "size of a team"),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused(flags, sentence):
    with pytest.raises(UserError, match=sentence):
        Bench(**flags)()
