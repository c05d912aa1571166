"""What a run leaves on disk, and where it goes on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openteam.errors import UserError
from openteam.storage.checkpoint import load_tree, save_tree
from openteam.storage.lock import Writer
from openteam.storage.policies import save_policy
from openteam.storage.rows import ROW_FILES, RowFile, Tally
from openteam.storage.run_folder import RunFolder
from openteam.threads import threads
from openteam.training.evaluator import Evaluation
from openteam.training.loop import Carry
from openteam.training.resuming import (
    Lines,
    check_headers,
    check_unbegun,
    checked_state,
    warn_of_devices,
    warn_of_threads,
)
from openteam.training.spec import RunSpec


class Recorder:
    """Rows, policies and states of one run, in its folder, to which only this one writes."""

    def __init__(self, folder: RunFolder, writer: Writer, devices: int = 1):
        self.folder = folder
        self.writer = writer
        self.devices = devices
        check_headers(folder)
        self.spec = RunSpec.from_config(folder.config, folder.path)
        self.kept: Lines = {name: [] for name in ROW_FILES}
        self.last_checkpoint = -1
        self.files: dict[str, RowFile] = {}
        self.marks: list[tuple[int, dict[str, Tally]]] = []

    def restore(self, shapes: Callable[[], Carry]) -> tuple[Carry, int] | None:
        """The last state and its number of updates; None if there is none yet. Nothing is changed before ``begin``."""
        if not self.folder.state.exists():
            check_unbegun(self.folder)
            return None
        header, self.kept = checked_state(self.folder, self.spec)
        carry = load_tree(self.folder.state, shapes())
        if int(carry.train.updates) != header["updates"]:
            raise UserError(f"{self.folder.state} is damaged: its number of updates is not that of its header.")
        self.last_checkpoint = header["checkpoint"]
        warn_of_threads(self.folder, header.get("threads"))
        warn_of_devices(self.folder, header.get("devices", 1), self.devices)
        return carry, header["updates"]

    def begin(self, updates: int) -> None:
        """Forget rows that were written after the state, and go on from there."""
        self.folder.cut_rows(self.kept, self.writer.check)
        self.files = {
            name: RowFile(self.folder.path / name, lines, self.writer.check) for name, lines in self.kept.items()
        }
        self.kept.clear()
        self.mark(updates)

    def training_row(self, updates: int, seconds: float, metrics: dict[str, float | None]) -> None:
        row: dict[str, Any] = {"step": updates * self.spec.chunk, "seconds": round(seconds, 4)}
        self.files["train.jsonl"].append([row | metrics])
        self.mark(updates)

    def checkpoint(self, carry: Carry, updates: int, evaluation: Evaluation) -> None:
        """Rows and policy of a checkpoint. The state comes last, by ``state``: until then the old one holds."""
        step, task = updates * self.spec.chunk, self.spec.task
        self.files["episodes.jsonl"].append(evaluation.episode_rows(step))
        if evaluation.beliefs is not None:
            self.files["beliefs.jsonl"].append(evaluation.belief_rows(step))
        self.mark(updates)
        save_policy(
            self.folder.checkpoint(step), self.spec.learner, carry.train.model,
            task=task.name, spec=task.spec, step=step, run=self.coverage(updates), check=self.writer.check,
        )  # fmt: skip
        self.last_checkpoint = step

    def state(self, carry: Carry, updates: int) -> None:
        """Everything needed to go on, and the rows that belong to it."""
        header = {
            "kind": "state", "seed": self.spec.seed, "updates": updates, "checkpoint": self.last_checkpoint,
            "threads": threads(), "devices": self.devices,
            "run": self.coverage(updates),
        }  # fmt: skip
        save_tree(self.folder.state, carry, header, self.writer.check)

    def mark(self, updates: int) -> None:
        """Remember which rows belong to this update, and to the one before: an interrupt may still go back to that."""
        tallies = {name: file.tally for name, file in self.files.items()}
        self.marks = [*(mark for mark in self.marks if mark[0] != updates), (updates, tallies)][-2:]

    def coverage(self, updates: int) -> dict[str, Any]:
        """What a checkpoint or a state of this update covers."""
        return self.folder.coverage(next(tallies for number, tallies in self.marks if number == updates))
