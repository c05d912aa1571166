"""What a run leaves on disk, and where it goes on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openteam.storage.checkpoint import load_tree, read_header, save_tree
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import ROW_FILES, RunFolder
from openteam.training.evaluator import Evaluation
from openteam.training.loop import Carry
from openteam.training.spec import RunSpec


class Recorder:
    """Rows, policies and states of one run, in its folder."""

    def __init__(self, folder: RunFolder):
        self.folder = folder
        self.spec = RunSpec.from_config(folder.config)

    def restore(self, shapes: Callable[[], Carry]) -> tuple[Carry, int] | None:
        """The last state and its number of updates; None if there is none. Rows that were written after it go."""
        if not self.folder.state.exists():
            self.folder.cut_rows(dict.fromkeys(ROW_FILES, 0))
            return None
        header = read_header(self.folder.state)
        carry = load_tree(self.folder.state, shapes())
        self.folder.cut_rows(header["rows"])
        return carry, header["updates"]

    def training_row(self, updates: int, seconds: float, metrics: dict[str, float | None]) -> None:
        row: dict[str, Any] = {"step": updates * self.spec.chunk, "seconds": round(seconds, 4)}
        self.folder.append("train.jsonl", [row | metrics])

    def checkpoint(self, carry: Carry, updates: int, evaluation: Evaluation) -> None:
        """Rows and policy of a checkpoint. The state comes last, by ``state``: until then the old one holds."""
        step, task = updates * self.spec.chunk, self.spec.task
        self.folder.append("episodes.jsonl", evaluation.episode_rows(step))
        if evaluation.beliefs is not None:
            self.folder.append("beliefs.jsonl", evaluation.belief_rows(step))
        save_policy(
            self.folder.checkpoint(step), self.spec.learner, carry.train.model,
            task=task.name, spec=task.spec, step=step,
        )  # fmt: skip

    def state(self, carry: Carry, updates: int) -> None:
        """Everything needed to go on, and how many rows belong to it: an interrupt may have left one more."""
        rows = self.folder.row_counts(updates * self.spec.chunk)
        header = {"kind": "state", "seed": self.spec.seed, "updates": updates, "rows": rows}
        save_tree(self.folder.state, carry, header)
