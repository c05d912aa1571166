"""Which of the authors' agents have been imported, known without reading them."""

from __future__ import annotations

from pathlib import Path

from openteam.errors import UserError
from openteam.storage.data_folder import data_folder


def imported_path(group: str) -> Path:
    """Where the imported agents of a world are kept, or would be."""
    return data_folder() / "authors" / f"{group}.safetensors"


def is_imported(group: str) -> bool:
    """Whether there is such a file."""
    return imported_path(group).is_file()


def check_imported(group: str, who: str) -> None:
    """Raise unless the agents of a world have been imported. ``who`` needs them."""
    if not is_imported(group):
        source = "PO-GPL" if group == "navigation" else "GPL (or PO-GPL)"
        raise UserError(
            f"{who} needs agents that the paper's authors published, and those of '{group}' have not been imported. "
            f"Clone github.com/uoe-agents/{source}, then: openteam teammates import FOLDER."
        )
