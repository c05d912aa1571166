"""Help, lists and mistakes are answered at once: without JAX, within a second, and never with a traceback."""

import io
import os
import random
import resource
import subprocess
import sys
from typing import get_args

import pytest
from rich.console import Console

import openteam
from openteam.algorithms.cloning import Cloning
from openteam.catalogue import FILE, catalogue
from openteam.cli import COMMANDS, run
from openteam.commands.record import Record
from openteam.commands.teammates import Clone
from openteam.commands.write_catalogue import content
from openteam.drawing.record import SHEET_FRAMES
from openteam.errors import UserError, check_seed, check_whole
from openteam.task import Task
from openteam.training.driver import Progress
from openteam.training.loggers import LOGGERS, MODULES, Log
from openteam.training.progress import ProgressBars
from openteam.training.settings import MOST_STEPS, Settings

TYPICAL = {
    "--help": 0,
    "--version": 0,
    "list": 0,
    "train lbf gpl-q --help": 0,
    "trian": 2,
    "train lbf": 2,
    "train lbf-relased gpl-q": 2,
    "train lbf gpl-q --learning-rate 1e-3": 2,
    "train lbf gpl-q --steps banana": 2,
    "train lbf gpl-q --steps 100 --log wandb": 2,
    "evaluate nowhere": 2,
    "compare nowhere": 2,
    "status nowhere": 2,
    "work nowhere": 2,
    "record lbf --out x.avi": 2,
    "teammates clone lbf --type H9 --name x": 2,
}


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(("line", "code"), TYPICAL.items())
def test_a_typical_answer_takes_less_than_a_second(line, code, tmp_path):
    """Of CPU time; three quarters of it are tyro and rich."""
    before = cpu_seconds()
    source = os.path.dirname(os.path.dirname(openteam.__file__))
    process = subprocess.run(
        [sys.executable, "-m", "openteam", *line.split()], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": source}, check=False,
    )  # fmt: skip
    assert process.returncode == code, process.stderr
    assert "Traceback" not in process.stderr
    assert cpu_seconds() - before < 1.0
    assert list(tmp_path.iterdir()) == []


def test_neither_openteam_nor_any_command_imports_jax_before_it_is_used():
    names = ", ".join(f"openteam.commands.{name.replace('-', '_')}" for name in COMMANDS)
    code = f"import sys, openteam, openteam.cli, {names}; dir(openteam); assert 'jax' not in sys.modules, 'jax'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_found_where_the_table_says():
    assert sorted(openteam._HOMES) == sorted(openteam.__all__)
    assert all(getattr(openteam, name) is not None for name in openteam.__all__)
    assert set(openteam.__all__) <= set(dir(openteam))
    with pytest.raises(AttributeError, match="has no attribute 'Tsk'"):
        _ = openteam.Tsk


def test_the_catalogue_says_what_tasks_and_algorithms_are(monkeypatch):
    monkeypatch.setattr(Task, "__check_init__", lambda self: None)  # it takes long, and is not the subject here
    assert FILE.read_text() == content(), "to mend it: python -m openteam.commands.write_catalogue"


NO_NUMBERS = (
    "-1",
    "1e30",
    "-1e30",
    "inf",
    "-inf",
    "nan",
    "1.5",
    "banana",
    "",
    "9" * 5000,
    "[/bold]",
    "--",
    "\N{SNOWMAN}",
)
NOWHERE = ("nowhere", "lager", "H9", "", "a b", "/dev/null/x", "[/bold]", "wandb", "my_worlds:maze", "\0")
WRONG = {
    "train lbf gpl-q --out x": {
        NO_NUMBERS: "--steps --seed --seeds --checkpoint-every --evaluation-episodes --task.world.size --learning-rate",
        NOWHERE: "--log --teammates --import --task --algorithm.head",
    },
    "record lbf --out x.gif": {
        NO_NUMBERS: "--steps --seed --episodes --frames --size", NOWHERE: "--policy --split --import --out --beleif",
    },
    "evaluate nowhere": {NO_NUMBERS: "--episodes --seed", NOWHERE: "--split --task --import"},
    "compare nowhere": {NOWHERE: "--at --csv --markdown --curves --import"},
    "beliefs nowhere": {NO_NUMBERS: "--episodes --seed", NOWHERE: "--player --csv --curves"},
    "resume nowhere": {NOWHERE: "--log --import"},
    "plan nowhere": {NO_NUMBERS: "--workers --gpus --time-limit", NOWHERE: "--import --on"},
    "work nowhere": {NO_NUMBERS: "--workers --gpus --lease --time-limit", NOWHERE: "--import"},
    "teammates list": {NO_NUMBERS: "--episodes", NOWHERE: "--import --tasks"},
    "teammates clone lbf --type H1 --name x": {NO_NUMBERS: "--steps --seed --width", NOWHERE: "--type --like"},
    "teammates train lbf --name x": {NO_NUMBERS: "--steps --seed --algorithm.envs --envs", NOWHERE: "--among"},
    "demo --out x": {NO_NUMBERS: "--steps --episodes --seed"},
    "bench": {NO_NUMBERS: "--processes --envs", NOWHERE: "--tasks --algorithms --import"},
}  # fmt: skip
"""Commands that would work, or nearly, and what each may be given that is wrong wherever it is given."""


def random_line(draw: random.Random) -> list[str]:
    """A command with a value that it cannot have, or words in any order with a flag that none has."""
    command = draw.choice(list(WRONG))
    values, flags = draw.choice(list(WRONG[command].items()))
    if draw.random() < 0.7:
        return [*command.split(), draw.choice(flags.split()), draw.choice(values)]
    pieces = [*COMMANDS, *flags.split(), *values, *list(catalogue().tasks)[:3], *list(catalogue().algorithms)[:3]]
    return [draw.choice([*COMMANDS, "trian", "-x"]), *draw.choices(pieces, k=draw.randrange(6)), "--no-such-flag"]


def test_200_random_command_lines_get_a_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(17)
    for _ in range(200):
        line = random_line(draw)
        assert run(line) == 2, line
        captured = capsys.readouterr()
        assert captured.err.strip(), line
        assert "Traceback" not in captured.out + captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [0, 2.5, True, float("inf"), float("nan"), 10**30, 10**999, "5", None])
def test_a_number_of_steps_that_cannot_be_is_refused_in_python_too(value):
    with pytest.raises(UserError, match="steps must be"):
        check_whole("steps", value, 1, MOST_STEPS)


@pytest.mark.parametrize("name", ["steps", "checkpoint_every", "evaluation_episodes"])
def test_settings_are_checked_when_they_are_made(name):
    with pytest.raises(UserError, match=rf"{name} must be at most .*; got 1e\+30"):
        Settings(**{name: 10**30})


@pytest.mark.parametrize("seed", [2**63, 2**32, -1, 0.5, None])
def test_a_seed_that_would_be_another_is_refused(seed):
    with pytest.raises(UserError, match="seed must be"):
        check_seed(seed)


@pytest.mark.parametrize(("width", "whole"), [(60, False), (80, True), (160, True)])
def test_a_bar_keeps_algorithm_step_and_time_left_at_any_width(width, whole):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    bars = ProgressBars("vae-gpl-released on wolfpack-partial-released", console)
    bars.bars.add_task("compiling", total=None, speed="", latest="")
    bars(Progress(0, 12_345_678, 16_000_000, 8123.0, evaluation={"train": 1.234, "larger": 2.345}))
    console.print(bars.bars.get_renderable())
    (line,) = console.file.getvalue().splitlines()
    assert len(line) <= width
    assert all(part in line for part in ("seed 0: vae-gpl-released on wolf", " 12.35M/16M ", "--:--"))
    assert ("wolfpack-partial-released" in line) == whole
    assert ("8,123 steps/s return train 1.23, larger 2.3" in line) == (width == 160)


def test_suggested_commands_can_be_pasted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my runs"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    assert run(["train", "lbf", "gpl-q", "--out", "my runs"]) == 2
    assert "openteam resume 'my runs'." in capsys.readouterr().err


def test_defaults_that_flags_repeat_are_those_of_the_work():
    """Flags are read without importing what they are for."""
    assert Record.frames == SHEET_FRAMES
    assert Clone.width == Cloning.width
    assert set(get_args(Log)) == {"none", *LOGGERS, *MODULES}
