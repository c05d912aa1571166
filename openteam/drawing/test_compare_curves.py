"""Learning curves: names that do not overlap, rows of comparable runs, colours that mean the same throughout."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from openteam.analysis.compare import Group, Reading
from openteam.analysis.labels import Label
from openteam.drawing.compare_curves import by_length, draw_task, file_name, spread, styles_of


def group(algorithm, steps, changes="", task="lbf"):
    """Two checkpoints, after half and all of the steps, with returns 1 and 2."""
    returns = {split: {steps // 2: 1.0, steps: 2.0} for split in ("train", "larger")}
    label = Label(algorithm, changes)
    run = Reading(Path("run"), {"seed": 0, "settings": {"steps": steps}}, returns)
    return Group(Label(task), label, steps, True, (run,), f"{label} {steps}")


def test_names_that_fit_stay_where_they_are():
    assert spread([0.2, 0.5, 0.8], [0.1] * 3) == pytest.approx([0.2, 0.5, 0.8])


def test_names_at_one_place_are_spread_around_it():
    assert spread([0.5, 0.5, 0.5], [0.1] * 3) == pytest.approx([0.4, 0.5, 0.6])


@pytest.mark.parametrize("places", [[0.0, 0.0, 0.01], [0.98, 1.0, 1.0], [0.3, 0.35, 0.9]])
def test_names_neither_overlap_nor_leave_the_panel(places):
    heights = [0.1, 0.3, 0.1]
    moved = np.array(spread(places, heights))
    assert (np.diff(moved) >= np.array([0.2, 0.2]) - 1e-9).all()
    assert moved[0] >= 0.05 - 1e-9
    assert moved[-1] <= 0.95 + 1e-9


def test_runs_of_comparable_length_share_a_row_and_the_longest_come_last():
    rows = by_length([group("gpl-q", 1_600_000), group("pf-gpl", 800_000), group("gpl-q", 6_400_000)])
    assert [[one.steps for one in row] for row in rows] == [[1_600_000, 800_000], [6_400_000]]


def test_an_algorithm_keeps_its_colour_and_its_variant_is_dashed():
    plain, variant, long = group("ql", 100), group("ql", 100, "envs 64"), group("ql", 900)
    other = group("gnn", 100)
    styles = styles_of([[plain, variant, other], [long]])
    assert len({styles[one.shown][0] for one in (plain, variant, long)}) == 1
    assert styles[other.shown][0] != styles[plain.shown][0]
    assert [styles[one.shown][1] for one in (plain, variant, other, long)] == ["-", "--", "-", "-"]


@pytest.mark.parametrize(("steps", "ticks"), [(1_600_000, "6.4"), (6_400_000, "6")])
def test_the_papers_value_has_a_tick_of_its_own_where_it_trained_longer(steps, ticks):
    figure = draw_task("lbf", [group("gpl-q", steps)], ["train", "larger"])
    panel = figure.axes[1]
    assert panel.get_xticklabels()[-1].get_text() == ticks
    (paper,) = panel.containers
    places, means = paper.lines[0].get_data()
    assert means.tolist() == [2.32]
    beyond = steps < 6_400_000
    assert (places[0] == 6.4) == (not beyond)
    assert (places[0] > steps / 1e6) == beyond


def test_every_line_is_named_and_there_is_no_legend():
    groups = [group("gpl-q", 200), dataclasses.replace(group("gpl-spi", 200), shown="a name of a line that is long")]
    figure = draw_task("lbf", groups, ["train"])
    assert {text.get_text().replace("\n", " ") for text in figure.axes[0].texts} >= {one.shown for one in groups}
    assert figure.legends == []


def test_a_file_is_named_after_its_task_in_plain_letters():
    assert file_name("lbf-released (pool.families Foragers)") == "lbf-released-pool.families-Foragers"
