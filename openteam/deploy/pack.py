"""A run as one file that can be given away: policy, configuration, results and a model card, and no code."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from pathlib import Path

from openteam.api import Run, path_of
from openteam.deploy.model_card import model_card
from openteam.deploy.targets import check_pack
from openteam.drawing.curves import draw_curves
from openteam.errors import UserError
from openteam.storage.bundle import CARD, PICTURE, is_bundle, write_bundle
from openteam.storage.columns import COLUMNS, write_columns
from openteam.storage.creation import TEAMMATES
from openteam.storage.rows import ROW_FILES
from openteam.storage.run_folder import RunFolder


def pack(run: os.PathLike[str] | str, out: Path | str) -> Path:
    """Write a run's last policy and all that is known of it to one file, which ``openteam.load`` takes like a run."""
    out, path = Path(out), path_of(run, "pack")
    check_pack(out)
    if is_bundle(path):
        raise UserError(f"{path} is packed already.")
    opened = Run.open(path)
    picture = picture_of(opened.folder)
    files = run_files(opened.folder) | ({PICTURE: picture} if picture else {})
    files[CARD] = model_card(opened, PICTURE if picture else None).encode()
    write_bundle(out, files)
    return out


def run_files(folder: RunFolder) -> dict[str, bytes]:
    """The files of a run that make it one: what it was asked, what came of it, and its last policy."""
    last = folder.last()
    assert last is not None  # it has a policy
    checkpoint, header = last
    rows = {name: folder.rows_of_checkpoints(name) for name in ROW_FILES}
    teammates = sorted((folder.path / TEAMMATES).rglob("*.safetensors"))
    # How it was started may say where on whose machine; who gets the file has no use for it.
    about = {name: value for name, value in folder.about.items() if name != "command"}
    kept = [folder.path / "config.json", checkpoint, *teammates]
    return {path.relative_to(folder.path).as_posix(): path.read_bytes() for path in kept} | {
        "about.json": (json.dumps(about, indent=1) + "\n").encode(),
        COLUMNS: write_columns(rows, header["run"]["rows"]),
    }


def picture_of(folder: RunFolder) -> bytes | None:
    """Its learning curves; None without results or matplotlib."""
    if importlib.util.find_spec("matplotlib") is None or not folder.rows_of_checkpoints("episodes.jsonl"):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / PICTURE
        draw_curves(path, {f"seed {folder.config['seed']}": [folder]}, title=folder.config["task"]["name"])
        return path.read_bytes()
