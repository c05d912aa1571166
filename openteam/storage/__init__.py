"""Runs on disk: folders, rows, checkpoints, configurations."""

from openteam.storage.config import from_json, to_json
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder

__all__ = ["RunFolder", "from_json", "load", "to_json"]
