"""Words of a command line: what tyro makes of them, and changes of a task or algorithm, checked before these exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

import tyro

from openteam.errors import UserError

CONFIG = (
    tyro.conf.DisallowNone,
    tyro.conf.HelptextFromCommentsOff,
    tyro.conf.PositionalMetavarFromFieldName,
    tyro.conf.SuppressFixed,
)
Command = TypeVar("Command")


def parse_flags(
    cls: type[Command], prog: str, words: Sequence[str], default: Command | None = None, description: str | None = None
) -> Command:
    """A command out of its words. Prints help or what is wrong with them, and exits, by itself."""
    if default is None:
        return tyro.cli(cls, prog=prog, args=list(words), description=description, config=CONFIG)
    return tyro.cli(cls, prog=prog, args=list(words), description=description, config=CONFIG, default=default)


def split_changes(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Words of the command itself, and those of flags that change its task or algorithm: --algorithm.envs 64."""
    parts: tuple[list[str], list[str]] = [], []
    for flag, values in by_flag(words):
        parts[flag.startswith(("--task.", "--algorithm."))].extend([flag, *values] if flag else values)
    return parts[0], tuple(parts[1])


def check_flags(words: Sequence[str], known: Mapping[str, str], command: str) -> None:
    """Raise at a flag that is not known, or at a value that is missing or no number where one is expected."""
    for word, values in by_flag(words):
        flag, equals, value = word.removeprefix("--").partition("=")
        expected = known.get(flag.replace("_", "-"))
        if expected is None and word:
            raise UserError(f"{command} has no --{flag}.{nearest(flag, known)} --help-all shows all its settings.")
        if expected:
            check_values(flag, [value, *values] if equals else values, expected)


def by_flag(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Flags with the words that follow them; what comes before the first has the flag ''. A value may be -5."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word.startswith("--"):
            groups.append((word, []))
        else:
            groups[-1][1].append(word)
    return groups


def check_values(flag: str, values: Sequence[str], expected: str) -> None:
    """Raise unless there are values, all of them numbers where numbers are expected."""
    if not values:
        raise UserError(f"--{flag} needs a value.")
    number = {"INT": int, "FLOAT": float}.get(expected.removeprefix("{None}|"), str)
    kind = {int: "a whole number", float: "a number"}.get(number)
    for value in values:
        try:
            number(value)
        except ValueError:
            if not (value == "None" and expected.startswith("{None}")):
                raise UserError(f"--{flag} must be {kind}; got '{value}'.") from None


def nearest(flag: str, known: Iterable[str]) -> str:
    """A hint at a flag with a similar name, or with a similar end: --envs means --algorithm.envs."""
    ends = {name.rpartition(".")[2]: name for name in reversed(list(known))}
    close = get_close_matches(flag, list(known), n=1, cutoff=0.7)
    close = close or [ends[end] for end in get_close_matches(flag.rpartition(".")[2], list(ends), n=1)]
    return f" Did you mean --{close[0]}?" if close else ""
