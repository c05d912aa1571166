"""Runs on disk: folders, rows, checkpoints, configurations."""

from openteam.results.config import from_json, register, to_json
from openteam.results.policies import load
from openteam.results.run_folder import RunFolder
from openteam.results.trained import Trained

__all__ = ["RunFolder", "Trained", "from_json", "load", "register", "to_json"]
