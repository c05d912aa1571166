"""Which episodes are played at a run's checkpoints."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from openteam.training.settings import Settings

BELIEFS = "beliefs"
"""Beliefs are scored on episodes of their own."""


@dataclass(frozen=True)
class EpisodeSeeds:
    """The seeds of the episodes of each split at each checkpoint.

    With ``paired_evaluation`` they come from the run's seed, the planned step of the checkpoint and the split's name.
    Runs of different algorithms with the same seed then meet the same starts, teammates and chances, and differences
    between them are paired. Without it, as before there was a choice, the number of updates and the split's place have
    a part in it: only learners with equally long updates meet the same episodes.
    """

    settings: Settings
    chunk: int
    """Environment steps per update."""
    seed: int
    splits: Sequence[str]

    def at(self, updates: int, split: str) -> int:
        """For the checkpoint at this update."""
        if self.settings.paired_evaluation:
            return self._of_planned_step(updates, split)
        return ((self.seed * 1_000_003 + updates) * 16 + list(self.splits).index(split)) % 2**31

    def of_beliefs(self, updates: int) -> int:
        """For scores of what is believed at the checkpoint at this update."""
        return self._of_planned_step(updates, BELIEFS) if self.settings.paired_evaluation else updates

    def _of_planned_step(self, updates: int, name: str) -> int:
        words = (self.seed, self.settings.planned_step(self.chunk, updates), zlib.crc32(name.encode()))
        return int(np.random.SeedSequence(words).generate_state(1)[0] >> 1)
