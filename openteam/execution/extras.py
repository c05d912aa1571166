"""Engines that are not installed with openteam."""

from __future__ import annotations

import importlib
from typing import Any

from openteam.errors import UserError


def needed(module: str, engine: str) -> Any:
    """A module that an engine needs, or a sentence on how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        how = f"pip install 'openteam[{engine}]'"
        raise UserError(f"--on {engine} needs the package {module}, which is not installed here: {how}") from None
