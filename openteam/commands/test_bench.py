from __future__ import annotations

import dataclasses

import pytest

from openteam.bench.measure import TrainingSpeed
from openteam.commands.bench import Bench
from openteam.commands.bench_report import FULL, PARTIAL, beside_released, in_parallel, keep, measured, training_cells
from openteam.errors import UserError
from openteam.execution.processes import cores as allowed_cores

SPEED = TrainingSpeed(
    training=8e3, collecting=33e3, cold_seconds=25.0, cached_seconds=5.0, peak_megabytes=900.0, megabytes=12.0,
    megaflop=5.9, gigaflops=47.0, matmul_gigaflops=85.0,
)  # fmt: skip


def test_what_is_compared_on_a_task_of_this_kind_is_measured():
    bench = Bench()
    assert [measured(bench, task) for task in bench.tasks] == [FULL, PARTIAL]
    assert measured(Bench(algorithms=("ql",)), "lbf-released") == ("ql",)


def test_a_row_stands_beside_gpl_q_and_the_released_code():
    cells = training_cells("lbf-released", "gpl-q", SPEED, peer=4e3)
    assert cells[:2] == ["8,000", "2.00"]
    assert cells[-1] == "28-39 (56-78)"  # 206 to 287 steps/s; 170 GFLOP/s are twice the 85 of this machine
    assert training_cells("lbf-released", "ql", SPEED, peer=None)[1::6] == ["-", "-"]


@pytest.mark.parametrize(
    ("algorithm", "expected"), [("ae-gpl", "52-54 (105-108)"), ("ae-gpl-released", "52-54 (105-108)"), ("ppo", "-")]
)
def test_released_figures_are_those_of_the_algorithm_by_either_name(algorithm, expected):
    assert beside_released("lbf-partial-released", algorithm, SPEED.training, SPEED.matmul_gigaflops) == expected


def test_figures_are_kept_as_soon_as_they_are_known(tmp_path):
    file = tmp_path / "new" / "figures.json"
    keep(Bench(json=file), {"training": [dataclasses.asdict(SPEED)]})
    assert '"training": 8000.0' in file.read_text()


def test_processes_at_once_each_bring_a_figure_or_what_went_wrong():
    assert in_parallel(int, ("7",), 2, allowed_cores()) == [7, 7]
    with pytest.raises(ValueError, match="seven"):
        in_parallel(int, ("seven",), 1, allowed_cores())


def test_no_process_at_all_is_refused():
    with pytest.raises(UserError, match="got 0"):
        Bench(processes=0)()
