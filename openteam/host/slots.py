"""Ids in slots: who sits where, and how often each slot has changed hands."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Bool

from openteam.errors import UserError

Id = Hashable


class Slots:
    """Slot 0 is the learner's. Everybody else keeps a slot while present; newcomers take the lowest that is free."""

    def __init__(self, count: int, learner: Id):
        self.ids: list[Id | None] = [learner, *[None] * (count - 1)]
        self.arrived = np.ones(count, bool)  # the occupant is new to everybody
        self.visits = np.ones(count, np.int32)  # a number per occupant: another one when the slot changes hands
        self.last_seen = np.zeros(count, np.int32)  # the visit that the learner last saw in each slot; 0 for none

    def seat(self, present: Sequence[Id], *, first: bool = False) -> None:
        """Let those go who are not present any more, and give newcomers a slot. Ends with who is there now."""
        if len(set(present)) < len(present):
            raise UserError(
                f"`agents` names somebody twice: {', '.join(map(str, present))}. An id stands for one agent."
            )
        here = {*present, self.ids[0]}
        self.ids = [one if one in here else None for one in self.ids]
        self.arrived = np.full(len(self.ids), first)
        for newcomer in [one for one in present if one not in self.ids]:
            if None not in self.ids:
                raise UserError(
                    f"There are {len(here)} agents ({', '.join(map(str, present))}) and room for {len(self.ids)}. Say "
                    f"how many there can be at once, such as --task.cap {len(here)}, or cap={len(here)} in Python."
                )
            slot = self.ids.index(None)
            self.ids[slot] = newcomer
            if not first:
                self.arrived[slot] = True
                self.visits[slot] += 1

    def meet(self, visible: Bool[np.ndarray, "slots"]) -> Bool[np.ndarray, "slots"]:
        """Who among those in sight is not whom the learner last saw there: ``core.view.meet`` for one environment."""
        new = visible & (self.visits != self.last_seen)
        self.last_seen = np.where(visible, self.visits, self.last_seen)
        return new

    @property
    def present(self) -> Bool[np.ndarray, "slots"]:
        return np.array([one is not None for one in self.ids])

    @property
    def seated(self) -> list[tuple[int, Id]]:
        """Every slot that is taken, and by whom."""
        return [(slot, one) for slot, one in enumerate(self.ids) if one is not None]
