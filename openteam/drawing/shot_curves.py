"""FortAttack's analyses as the paper draws them: shooting accuracy, pairwise utilities of shots, values of states.

Over checkpoints where there are several; a dot per seed where only one was stored.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openteam.analysis.series import Row, series
from openteam.drawing.compare_curves import NAME_WIDTH, file_name
from openteam.drawing.figures import COLOURS, check_picture, save_picture
from openteam.drawing.lines import draw_mean, draw_seeds

SCENARIOS = {
    "scenario_1": "1: guard shoots, attacker in range",
    "scenario_2": "2: guard shoots, attacker out of range",
    "scenario_3": "3: attacker shoots, guard in range",
    "scenario_4": "4: attacker shoots, guard out of range",
}
VALUES = {"value_1": "V(S1): an attacker in any guard's range", "value_2": "V(S2): no attacker in range"}
VALUE_COLOURS = (COLOURS[0], COLOURS[2])  # blue and green, as in the paper
COLUMNS = 4  # panels side by side


def draw_shots(path: Path, rows: Sequence[Row]) -> list[Path]:
    """Write NAME-accuracy, NAME-utilities and NAME-values, per task if there are several, as far as there is data."""
    check_picture(path)
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    written = []
    for task in tasks:
        ours = [row for row in rows if row["task"] == task]
        figures = {"accuracy": draw_accuracy(ours), "utilities": draw_utilities(ours), "values": draw_values(ours)}
        for name, figure in figures.items():
            if figure is not None:
                parts = [path.stem, *([file_name(task)] if len(tasks) > 1 else []), name]
                written.append(path.with_name("-".join(parts) + path.suffix))
                save_picture(figure, written[-1])
    return written


def draw_accuracy(rows: Sequence[Row]) -> Any | None:
    """Hits per shot of the learner, a line per algorithm (paper, figure "Shooting accuracy in FortAttack")."""
    curves = {name: series(ours, "accuracy") for name, ours in by_algorithm(rows).items()}
    curves = {name: curve for name, curve in curves.items() if curve[1].size}
    if not curves:
        return None
    figure = new_figure(1)
    panel = figure.subplots()
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(curves)}
    draw_all(panel, curves, colours)
    panel.set(ylabel="hits per shot", ylim=(0, None), title="Shooting accuracy of the learner")
    if over_training(curves):
        panel.legend(panel.get_lines(), map(wrapped, curves), frameon=False, fontsize=8)
    else:
        panel.set_xticks(range(len(curves)), list(map(wrapped, curves)), rotation=30, ha="right", fontsize=8)
    return figure


def draw_utilities(rows: Sequence[Row]) -> Any | None:
    """Pairwise utility of a shot in the four scenarios, and returns, a panel per algorithm with such utilities."""
    kin = {name: ours for name, ours in by_algorithm(rows).items() if any("scenario_1" in row for row in ours)}
    figure = draw_panels(kin, SCENARIOS, COLOURS[:4], "mean pairwise utility of a shot")
    if figure is None:
        return None
    for panel, ours in zip(figure.axes, kin.values(), strict=False):
        steps, returns = series(ours, "return")
        if len(steps) > 1:
            other = panel.twinx()
            other.plot(steps / 1e6, returns.mean(0), ":", color="#777777", linewidth=1.4)
            other.set_ylabel("return (dotted)", fontsize=8, color="#777777")
    return figure


def draw_values(rows: Sequence[Row]) -> Any | None:
    """V(S1) and V(S2), a panel per algorithm without joint action values."""
    kin = {
        name: ours
        for name, ours in by_algorithm(rows).items()
        if any("value_1" in row for row in ours) and not any("scenario_1" in row for row in ours)
    }
    return draw_panels(kin, VALUES, VALUE_COLOURS, "mean of max Q(s, a)")


def draw_panels(kin: dict[str, list[Row]], metrics: dict[str, str], colours: Sequence[str], ylabel: str) -> Any | None:
    """A panel per algorithm, a line per metric; None without any."""
    if not kin:
        return None
    columns = min(COLUMNS, len(kin))
    lines = -(-len(kin) // columns)
    figure = new_figure(columns, lines)
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    for panel, (name, ours) in zip(panels, kin.items(), strict=False):
        curves = {metric: series(ours, metric) for metric in metrics}
        draw_all(panel, curves, dict(zip(metrics, colours, strict=True)))
        seeds = len({row["seed"] for row in ours})
        panel.set_title(f"{wrapped(name)}\n{seeds} seed{'s' * (seeds > 1)}", fontsize=9)
        panel.axhline(0, color="#999999", linewidth=0.6)
        if not over_training(curves):
            panel.set_xticks(range(len(metrics)), [metric[-1] for metric in metrics])
    for panel in panels[len(kin) :]:
        panel.set_axis_off()
    panels[0].set_ylabel(ylabel)
    handles = [panels[0].plot([], [], color=colour, linewidth=1.6)[0] for colour in colours]
    side_by_side = min(2, columns)  # a single panel is too narrow for two
    figure.legend(handles, metrics.values(), loc="outside lower center", ncols=side_by_side, frameon=False, fontsize=9)
    return figure


def draw_all(panel: Any, curves: dict[str, tuple[Any, Any]], colours: dict[str, str]) -> None:
    """Lines over training, or dots side by side if no curve has more than one checkpoint."""
    over = over_training(curves)
    for number, (name, (steps, values)) in enumerate(curves.items()):
        if over and values.size:
            draw_mean(panel, steps / 1e6, values, colours[name])
        elif values.size:
            draw_seeds(panel, number, values[:, -1], colours[name])
    if over:
        panel.set_xlabel("million steps")
        panel.locator_params(axis="x", nbins=4)
    panel.grid(alpha=0.25)


def over_training(curves: dict[str, tuple[Any, Any]]) -> bool:
    """Whether there are curves to draw and not only points."""
    return any(len(steps) > 1 for steps, _ in curves.values())


def by_algorithm(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each algorithm, in their order."""
    names = dict.fromkeys(row["algorithm"] for row in rows)
    return {name: [row for row in rows if row["algorithm"] == name] for name in names}


def wrapped(name: str) -> str:
    """A name on at most two short lines."""
    return textwrap.fill(textwrap.shorten(name, 2 * NAME_WIDTH, placeholder=" …"), NAME_WIDTH)


def new_figure(columns: int, lines: int = 1) -> Any:
    """An empty figure with room for panels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(3.3 * columns + 1.6, 2.9 * lines + 0.9), layout="constrained")
