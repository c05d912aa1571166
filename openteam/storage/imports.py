"""Modules with the user's own worlds, teammates and learners, imported because the user named them."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable

from openteam.errors import UserError


def import_modules(names: Iterable[str]) -> None:
    """Import these modules, which may also be in the current folder."""
    for name in names:
        # An installed command, unlike ``python -m openteam``, does not look here by itself.
        if not {"", os.getcwd()} & set(sys.path):
            sys.path.insert(0, os.getcwd())
        if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
            raise UserError(
                f"'{name}' is no module's name. Give it as in an import statement: my_worlds, not my_worlds.py."
            )
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise _failure(name, error) from None
            raise UserError(f"There is no module '{name}', neither in {os.getcwd()} nor installed.") from None
        except Exception as error:  # whatever the user's code does wrong
            raise _failure(name, error) from None


def _failure(name: str, error: Exception) -> UserError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = "" if isinstance(error, SyntaxError) else f" ({last.filename}, line {last.lineno})"  # it says so itself
    return UserError(f"{name} cannot be imported: {type(error).__name__}: {error}{where}.")
