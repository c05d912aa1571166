"""What sets one configuration apart from another, and how to make one from another: field by field, by dotted names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from openteam.errors import UserError


def differences(config: Any, reference: Any, path: str = "") -> dict[str, Any]:
    """Fields of ``config`` with another value than in ``reference``, by dotted name.

    A field that only the reference has came to the code after the configuration was written, with the default that the
    code had followed until then; it is no difference.
    """
    if isinstance(config, dict) and isinstance(reference, dict) and config.get("class") == reference.get("class"):
        found: dict[str, Any] = {}
        for name, value in config.items():
            inner = f"{path}.{name}" if path else name
            found |= differences(value, reference[name], inner) if name in reference else {inner: value}
        return found
    if isinstance(config, list) and isinstance(reference, list) and len(config) == len(reference):
        pairs = enumerate(zip(config, reference, strict=True))
        return {k: v for n, (mine, other) in pairs for k, v in differences(mine, other, f"{path}.{n}").items()}
    return {} if config == reference else {path: config}


def describe(changes: dict[str, Any]) -> str:
    """``envs 64, rule SoftPolicyIteration``."""
    return ", ".join(f"{name} {_short(value, name)}" for name, value in changes.items())


def _short(value: Any, name: str = "") -> str:
    if isinstance(value, dict):
        return short_class(value["class"]) if "class" in value else str(value)
    if isinstance(value, (list, tuple)):
        return "+".join(map(_short, value))
    return str(value)[:12] if name.endswith("sha256") else str(value)


def short_class(name: str) -> str:
    """A class's name for people: our own without ``openteam:``."""
    return name.removeprefix("openteam:")


def with_change(config: Any, name: str, value: Any) -> Any:
    """A configuration in which the field of that dotted name has another value."""
    return _replaced(config, name.split("."), value, name)


def _replaced(config: Any, names: list[str], value: Any, whole: str) -> Any:
    if not names:
        return _of_kind(value, config, whole)
    first, rest = names[0], names[1:]
    known = _inside(config)
    if first not in known:
        close = get_close_matches(first, known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        there = f"There are: {', '.join(known)}." if known else "It has no parts."
        raise UserError(f"There is no setting '{whole}': '{first}' is not known.{hint} {there}")
    changed = _replaced(known[first], rest, value, whole)
    if isinstance(config, list):
        return [changed if str(number) == first else item for number, item in enumerate(config)]
    return {key: item for key, item in config.items() if key != "sha256"} | {first: changed}  # it was of the old field


def _inside(config: Any) -> dict[str, Any]:
    if isinstance(config, dict):
        return {name: item for name, item in config.items() if name not in ("class", "sha256")}
    return {str(number): item for number, item in enumerate(config)} if isinstance(config, list) else {}


def _of_kind(value: Any, old: Any, name: str) -> Any:
    """The value, a whole number as an integer where one was, if it can stand where the old one stood."""
    if isinstance(old, dict):
        parts = ", ".join(f"{name}.{part}" for part in _inside(old))
        raise UserError(f"'{name}' is made of parts and cannot be {value!r}. Set one of {parts}.")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(old, bool):
        fits = isinstance(value, bool)
    elif isinstance(old, int):
        fits = number and value == int(value)
        value = int(value) if fits else value
    elif isinstance(old, float):
        fits = number
        value = float(value) if fits else value
    else:
        fits = old is None or isinstance(value, type(old))
    if not fits:
        raise UserError(f"'{name}' is {old!r} by default and cannot be {value!r}.")
    return value
