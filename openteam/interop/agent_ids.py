"""Who is called what in a team that changes: one id per visit, or one per slot."""

from __future__ import annotations

from typing import NamedTuple

from openteam.interop.team_playing import Turn


class Row(NamedTuple):
    """An agent of whom a step must tell."""

    agent: str
    slot: int
    left: bool = False  # it is gone since this step
    joined: bool = False  # it came with this step


class VisitIds:
    """One id from arrival to departure. Whoever comes gets the next number, also somebody who was there before."""

    possible = None  # nobody knows who will come

    def __init__(self) -> None:
        self.occupants: dict[int, str] = {}
        self.count = 0

    def begin(self, turn: Turn) -> list[Row]:
        """Everybody at the start of an episode."""
        self.occupants, self.count = {}, 0
        return [row._replace(joined=False) for row in self.welcome(turn)]

    def proceed(self, turn: Turn) -> list[Row]:
        """All who acted in a step, and all who came with it."""
        rows = [Row(agent, slot, left=bool(turn.left[slot])) for slot, agent in self.occupants.items()]
        self.occupants = {row.slot: row.agent for row in rows if not row.left}
        return rows if turn.ends else rows + self.welcome(turn)  # nobody joins an episode that is over

    def welcome(self, turn: Turn) -> list[Row]:
        """Newcomers."""
        slots = [int(slot) for slot in turn.arrived.nonzero()[0]]
        rows = [Row(f"agent_{self.count + n}", slot, joined=True) for n, slot in enumerate(slots)]
        self.occupants |= {row.slot: row.agent for row in rows}
        self.count += len(rows)
        return rows


class SlotIds:
    """One id per slot, whoever is in it."""

    def __init__(self, slots: int):
        self.possible = [f"agent_{slot}" for slot in range(slots)]

    def begin(self, turn: Turn) -> list[Row]:
        return self.proceed(turn)

    def proceed(self, turn: Turn) -> list[Row]:
        del turn
        return [Row(agent, slot) for slot, agent in enumerate(self.possible)]


AgentIds = VisitIds | SlotIds
