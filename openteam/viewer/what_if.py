"""Changes of a moment, as a page asks for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from openteam.errors import UserError
from openteam.task import Task
from openteam.viewer.messages import Message, place, whole
from openteam.viewer.moments import Edit, Moment, has_position
from openteam.viewer.scenes import place_of, roles_of


@dataclass
class WhatIf:
    """Who is removed, added and moved, by slot, and what some do next."""

    type_ids: Int[np.ndarray, "slots"]
    remove: Bool[np.ndarray, "slots"]
    add: Bool[np.ndarray, "slots"]
    moved: Bool[np.ndarray, "slots"]
    position: Float[np.ndarray, "slots 2"]
    actions: dict[int, int] = field(default_factory=dict)

    @property
    def edit(self) -> Edit:
        return Edit(*map(jnp.asarray, (self.remove, self.add, self.type_ids, self.moved, np.float32(self.position))))

    @property
    def changes_world(self) -> bool:
        return bool((self.remove | self.add | self.moved).any())


def read_changes(task: Task, moment: Moment, changes: list[Message]) -> WhatIf:
    """The changes together, each checked: ``remove``, ``add`` with ``type`` and ``at``, ``move``, ``set``."""
    nobody = np.zeros(task.slots, bool)
    asked = WhatIf(np.array(moment.env.type_ids), nobody, nobody.copy(), nobody.copy(), np.zeros((task.slots, 2)))
    for change in changes:
        one_change(task, moment, asked, change)
    return asked


def one_change(task: Task, moment: Moment, asked: WhatIf, change: Message) -> None:
    """Add a change to those before it."""
    last = task.slots - 1
    if "remove" in change:
        slot = whole(change, "remove", 1, last)
        check_there(moment, asked, slot)
        asked.remove[slot] = ~asked.add[slot]
        asked.add[slot] = asked.moved[slot] = False
        asked.actions.pop(slot, None)
    elif "add" in change:
        slot = free_slot(task, moment, asked, change.get("role"))
        asked.type_ids[slot] = whole(change, "add", 0, task.pool.size - 1)
        asked.add[slot] = True
        put(task, moment, asked, slot, change)
    elif "move" in change:
        slot = whole(change, "move", 0, last)
        check_there(moment, asked, slot)
        put(task, moment, asked, slot, change)
    elif "set" in change:
        slot = whole(change, "set", 1, last)
        check_there(moment, asked, slot)
        asked.actions[slot] = whole(change, "action", 0, task.world.actions - 1)
    else:
        raise UserError("A change is one of remove, add, move and set.")


def check_there(moment: Moment, asked: WhatIf, slot: int) -> None:
    """Raise unless somebody is in the slot, with the changes so far."""
    if not there(moment, asked)[slot]:
        raise UserError(f"Nobody is in slot {slot} now. Choose an agent that is present.")


def there(moment: Moment, asked: WhatIf) -> np.ndarray:
    """Who is present with the changes so far."""
    return (np.asarray(moment.env.world.present) & ~asked.remove) | asked.add


def free_slot(task: Task, moment: Moment, asked: WhatIf, role: object) -> int:
    """The first slot for a newcomer, of its role where roles belong to slots."""
    roles = roles_of(task.world, task.slots)
    if role is not None and role not in roles[1:]:
        raise UserError(f"Nobody can be added as that. Roles here: {', '.join(dict.fromkeys(roles[1:]))}.")
    taken = there(moment, asked) | asked.remove
    free = [slot for slot in range(1, task.slots) if not taken[slot] and role in (None, roles[slot])]
    if not free:
        raise UserError(f"All {task.slots} places of the team are taken. Remove somebody, or watch a larger split.")
    return free[0]


def put(task: Task, moment: Moment, asked: WhatIf, slot: int, change: Message) -> None:
    """Set where somebody stands. Raises where nobody can."""
    state = moment.env.world
    if not has_position(state):
        raise UserError(f"Nobody can be put into a {type(task.world).__name__} by hand. Agents can be removed.")
    gone = {int(other) for other in np.flatnonzero(asked.remove | asked.moved)} | {slot}
    position = place_of(task.world, state, *place(change), gone)
    others = asked.moved & (np.arange(task.slots) != slot)
    if (asked.position[others] == position).all(-1).any():
        raise UserError("Two agents cannot be put in the same place. Choose another.")
    asked.moved[slot] = True
    asked.position[slot] = position
