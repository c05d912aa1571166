"""Who is in which slot: ids come and go, a slot is given to one of them at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool


@dataclass(frozen=True)
class Seen:
    """What an agent sees of its team, by slot."""

    slots: list[int]  # of the teammates in sight, in the order they were given
    visible: Bool[np.ndarray, "slots"]
    new: Bool[np.ndarray, "slots"]  # it is somebody else than whom the agent last saw there


@dataclass(frozen=True)
class Roster:
    """The teammates who have a slot, and when each was last seen. Slot 0 is the learner's own.

    With ``keeps_unseen`` somebody out of sight stays in his slot, as in a task with a partial view, until the slot is
    needed: then whoever was seen least recently loses it. Without, who is not seen has left, as in a full view.
    """

    capacity: int
    keeps_unseen: bool
    slot_of: dict[Hashable, int] = field(default_factory=dict)
    last_seen: dict[Hashable, int] = field(default_factory=dict)
    clock: int = 0

    def see(self, ids: Sequence[Hashable]) -> tuple[Roster, Seen]:
        """The roster after these teammates were seen, at most ``capacity - 1``, and what is new about them."""
        present = set(ids)
        slot_of = {who: slot for who, slot in self.slot_of.items() if self.keeps_unseen or who in present}
        newcomers = [who for who in ids if who not in slot_of]
        if newcomers:
            self._make_room(slot_of, present, len(newcomers))
            taken = set(slot_of.values())
            free = (slot for slot in range(1, self.capacity) if slot not in taken)
            slot_of |= dict(zip(newcomers, free, strict=False))
        slots = [slot_of[who] for who in ids]
        visible, new = np.zeros((2, self.capacity), bool)
        visible[slots] = visible[0] = True
        new[[slot_of[who] for who in newcomers]] = True
        last_seen = {who: self.clock if who in present else self.last_seen[who] for who in slot_of}
        return replace(self, slot_of=slot_of, last_seen=last_seen, clock=self.clock + 1), Seen(slots, visible, new)

    def _make_room(self, slot_of: dict[Hashable, int], present: set[Hashable], needed: int) -> None:
        """Take slots from those out of sight, the least recently seen first."""
        missing = needed - (self.capacity - 1 - len(slot_of))
        if missing > 0:
            unseen = sorted((who for who in slot_of if who not in present), key=lambda who: self.last_seen[who])
            for who in unseen[:missing]:
                del slot_of[who]

    def without(self, who: Hashable) -> Roster:
        """The same without somebody."""
        slot_of, last_seen = ({k: v for k, v in d.items() if k != who} for d in (self.slot_of, self.last_seen))
        return replace(self, slot_of=slot_of, last_seen=last_seen)
