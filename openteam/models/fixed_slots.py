"""A team as a list of fixed length, for models that cannot take a team of any size.

If newcomers took the first free entry, the last entries would stay empty while a small team trains, and mean nothing
when a larger one comes. So everybody gets a random entry on arrival and keeps it while it stays.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.order import rank_among
from openteam.core.types import Observation, Spec
from openteam.errors import UserError

ABSENT = -1.0  # what stands where nobody is
NO_ENTRY = -1


class FixedSlots(eqx.Module):
    """The entries of the list, the learner's own included: that is entry 0.

    Where newcomers go is drawn one step ahead and remembered: ``step`` is a function of memory and view alone, so an
    update that looks at an observation again puts everybody where the rollout did.
    """

    count: int = eqx.field(static=True)
    shuffled: bool = eqx.field(static=True, default=True)  # else newcomers take the first free entry

    def start(self, slots: int) -> tuple[Float[Array, "entries"], Int[Array, "slots"]]:
        """The order in which free entries are taken, and the entry of every slot; nobody but the learner has one."""
        if slots > self.count:
            raise UserError(
                f"This policy was trained for teams of at most {self.count} agents and the team has room for {slots}. "
                f"Train it with max_agents {slots}."
            )
        return jnp.arange(self.count, dtype=jnp.float32), jnp.full(slots, NO_ENTRY).at[0].set(0)

    def draw(self, key: Key[Array, ""]) -> Float[Array, "entries"]:
        """The order in which free entries are taken next."""
        return jax.random.uniform(key, (self.count,)) if self.shuffled else jnp.arange(self.count, dtype=jnp.float32)

    def step(
        self, order: Float[Array, "entries"], entry: Int[Array, "slots"], fresh: Bool[Array, "slots"]
    ) -> Int[Array, "slots"]:
        """Newcomers at free entries, everybody else where they are. No two slots share an entry."""
        arrives, numbers = fresh.at[0].set(False), jnp.arange(self.count)
        held = (~arrives[:, None] & (entry[:, None] == numbers)).any(0)
        ordinal = jnp.cumsum(arrives) - 1
        taken = rank_among(order, ~held) == ordinal[:, None]
        return jnp.where(arrives, (taken * numbers).sum(1), entry)

    def arrange(
        self, rows: Float[Array, "slots feat"], entry: Int[Array, "slots"], exists: Bool[Array, "slots"], empty: float
    ) -> Float[Array, "entries feat"]:
        """Rows at their entries, and ``empty`` where nobody is."""
        outside = self.count + jnp.arange(len(entry))
        blank = jnp.full((self.count, rows.shape[-1]), empty, rows.dtype)
        return blank.at[jnp.where(exists, entry, outside)].set(rows, mode="drop", unique_indices=True)


class AnySlots(eqx.Module):
    """For models that take a team of any size: nobody needs an entry, and nothing is remembered."""

    def start(self, slots: int) -> tuple[tuple[()], tuple[()]]:
        del slots
        return (), ()

    def draw(self, key: Key[Array, ""]) -> tuple[()]:
        del key
        return ()

    def step(self, order: tuple[()], entry: tuple[()], fresh: Bool[Array, "slots"]) -> tuple[()]:
        del order, fresh
        return entry


class FlatObservation(eqx.Module):
    """Everybody's features at fixed slots, ``ABSENT`` where nobody is seen, then the shared features."""

    slots: FixedSlots

    def size(self, spec: Spec) -> int:
        return self.slots.count * spec.agent_features + spec.shared_features

    def __call__(self, obs: Observation, entry: Int[Array, "slots"]) -> Float[Array, "inputs"]:
        rows = self.slots.arrange(obs.agents, entry, obs.visible, ABSENT)
        return jnp.concatenate([rows.reshape(-1), obs.shared])


def fixed_size(learner: str, max_agents: int | None, spec: Spec) -> int:
    """The length of the list: what the learner's ``max_agents`` says, or else the task's largest team."""
    size = spec.max_agents if max_agents is None else max_agents
    if size is None:
        raise UserError(f"{learner} must know how many agents there can be: set max_agents, as the task does not say.")
    return size
