"""The sides of a game that two or more teams play against each other, and who is trained jointly."""

from __future__ import annotations

import equinox as eqx
import numpy as np
from jaxtyping import Bool

from openteam.core.checked import AbstractChecked
from openteam.errors import UserError, check_positive


class Sides(AbstractChecked):
    """A task's slots as sides of equal size, in order. The first is trained; the pool plays all others."""

    count: int = eqx.field(static=True, default=1)
    """How many sides there are. With 1, everybody is trained."""
    see_own: bool = eqx.field(static=True, default=True)
    """Agents see the others of their own side. In the released FortAttack guards see only themselves and attackers."""

    def __check_init__(self) -> None:
        check_positive(self, "count")

    def size(self, slots: int) -> int:
        """How many of the slots are trained."""
        if slots % self.count:
            raise UserError(f"{slots} slots cannot be {self.count} sides of equal size. Change sides.count.")
        return slots // self.count

    def trained(self, slots: int) -> Bool[np.ndarray, "slots"]:
        """Who is on the first side."""
        return np.arange(slots) < self.size(slots)

    def hidden(self, slots: int) -> Bool[np.ndarray, "slots slots"]:
        """Entry [i, j]: agent i does not see agent j, though j is there."""
        side = np.arange(slots) // self.size(slots)
        same = side[:, None] == side
        return same & ~np.eye(slots, dtype=bool) & (not self.see_own)
