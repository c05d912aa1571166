"""``--import MODULE``: the one way in which a command comes to use code that is not openteam's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Annotated

import tyro

Imports = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        name="import",
        metavar="MODULE",
        help="A module with worlds, teammates or learners of your own, installed or in the current folder. "
        "May be given several times.",
    ),
    tyro.conf.UseAppendAction,
]


def split_imports(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The modules that a command line names, and the other words: for commands in which these mean something only once
    the modules are there."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, prog="openteam train")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE")
    named, rest = parser.parse_known_args(list(words))
    return tuple(named.modules), rest


def command_line(words: str, imports: Sequence[str]) -> str:
    """A command to suggest, with the modules that it needs."""
    return " ".join([words, *(f"--import {module}" for module in imports)])
