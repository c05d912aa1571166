"""The user's code: found by name, called with care."""

from __future__ import annotations

import contextlib
import functools
import importlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from openteam.errors import UserError


class HostError(UserError):
    """The user's environment, or a process that it runs in, failed. What was trained so far is on disk."""


@contextlib.contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into a sentence, with the last line of the traceback that is his."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if "site-packages" not in frame.filename), frames[-1])
        line = f": {last.line}" if last.line else ""
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        raise HostError(f"{what} failed with {text} ({last.filename}, line {last.lineno}{line}).") from error


def find(name: str) -> Any:
    """What ``module:name`` stands for. The task that names it has checked that the user imported the module."""
    module, _, qualname = name.partition(":")
    return functools.reduce(getattr, qualname.split("."), importlib.import_module(module))


def find_optional(name: str | None) -> Callable[..., Any] | None:
    """The same, or nothing where nothing is named."""
    return None if name is None else find(name)
