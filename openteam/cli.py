"""The command line: a table of commands, each imported only when it is asked for.

What can be answered without JAX is answered without it: help, lists and mistakes take no longer than Python itself.
So the module of a command holds its flags and checks, and imports what does the work when it is called.
"""

from __future__ import annotations

import contextlib
import importlib
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version

from openteam.catalogue import did_you_mean
from openteam.errors import UserError

COMMANDS: dict[str, str] = {
    "train": "train TASK ALGORITHM --out RUN: train a learner",
    "resume": "resume RUN: go on with an interrupted run",
    "evaluate": "evaluate RUN --split larger --episodes 480: returns of a trained policy",
    "list": "list: tasks, splits, algorithms",
    "record": "record TASK --policy RUN --out x.gif: watch an episode; .mp4 too, and .png for a sheet of frames",
    "watch": "watch RUN: a page to watch a team step by step, see why the learner acts, ask what if, and play along",
    "compare": "compare RUNS --curves x.png: means and intervals over seeds beside the paper's, learning curves",
    "beliefs": "beliefs RUNS --curves x.png: what runs believe about what they cannot see, against the truth",
    "shots": "shots RUNS --curves x.png: FortAttack's shots, how many hit and what learners think they are worth",
    "plan": "plan FILE --on local|ray|slurm: many runs at once; skips what is finished, resumes what is not",
    "work": "work PLAN|FOLDER: a worker; takes runs that nobody is at, on any machine that shares the disk",
    "status": "status FOLDER: how far all runs of a folder are, and where they run",
    "export": "export RUN --to onnx --out FOLDER: a policy that runs without openteam; also to stablehlo and numpy",
    "pack": "pack RUN --out x.openteam.zip: a run as one file, with a model card, to give away",
    "archive": "archive RUNS: finished runs in little room, rows as compressed columns",
    "reproduce": "reproduce full --scale smoke: the paper's tables and figures, from nothing or from stored runs",
    "report": "report FOLDER --out report.html: all runs of a folder as one page, each number with the runs behind it",
    "crossplay": "crossplay RUNS --task lbf: learners with each teammate type alone, in teams of several sizes",
    "team-sizes": "team-sizes RUNS: returns in teams of up to 3, 5, 7, 9 and 20, a curve per algorithm",
    "teammates": "teammates list|check|train|clone|add|duel: the types that teammates can have",
    "bench": "bench: speed, as ratios to plain matrix products on this machine",
    "demo": "demo: train, evaluate and draw, in a few minutes",
}


def parse(name: str, words: list[str]) -> Callable[[], None]:
    """A command with its settings. Its module has a ``parse`` of its own, or a dataclass that is named after it."""
    module = importlib.import_module(f"openteam.commands.{name.replace('-', '_')}")
    if hasattr(module, "parse"):
        return module.parse(words)
    from openteam.commands.flags import parse_flags

    return parse_flags(getattr(module, name.title().replace("-", "")), f"openteam {name}", words)


def usage() -> str:
    """All commands, a line each."""
    lines = "\n".join(f"  openteam {text}" for text in COMMANDS.values())
    return f"Open ad hoc teamwork: agents that join teams they have never met.\n\n{lines}\n\nEach has --help."


def versions() -> str:
    """What a report of a problem should say."""
    return f"openteam {version('openteam')}, jax {version('jax')}, Python {platform.python_version()}"


def run(words: list[str]) -> int:
    """Run one command; the exit code."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if words[0] in ("-V", "--version"):
        print(versions())
        return 0
    try:
        if words[0] not in COMMANDS:
            hint = did_you_mean(words[0], COMMANDS)
            raise UserError(f"There is no command '{words[0]}'.{hint} Commands: {', '.join(COMMANDS)}.")
        parse(words[0], words[1:])()
    except UserError as error:
        print(f"openteam: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("openteam: interrupted.", file=sys.stderr)
        return 2
    except SystemExit as stop:  # flags are parsed by tyro, which prints help and mistakes by itself
        return stop.code if isinstance(stop.code, int) else 2
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
    return 0
