"""What scripted teammates go for and do, over many draws, on grids where the acting one is ``b``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from openteam.core.random import key as make_key
from openteam.core.types import first_view
from openteam.views import FullView

DRAWS, SLOTS = 2000, 3


class Scripts:
    """A family of types in a world. ``choose`` is the method that finds a target from what is seen and a number."""

    def __init__(self, family: Any, world: Any, read: Callable[[str], Any], choose: str, actions: tuple[str, ...]):
        self.family, self.world, self.read, self.choose, self.actions = family, world, read, choose, actions
        self.compiled = jax.jit(self.decide, static_argnums=1)

    def decide(self, state: Any, draws: int) -> tuple[jax.Array, jax.Array]:
        """For every type and draw: the cell that it goes for (-1 for none) and what it does."""
        obs = FullView()(make_key(0), self.world, state, jnp.array(1))
        # Nonsense in rows that are not visible must not matter.
        obs = eqx.tree_at(lambda o: o.agents, obs, jnp.where(obs.visible[:, None], obs.agents, 9.0))

        def one(index: Any, uniform: Any, key: Any) -> tuple[jax.Array, jax.Array]:
            member = self.family.member(index)
            cell, found = getattr(member, self.choose)(obs, uniform)
            action, _ = member.act(key, member.start(SLOTS), first_view(obs))
            return jnp.where(found, cell, -1), action

        types = len(self.family.names)
        keys = jax.random.split(make_key(1), (types, draws))
        over_draws = jax.vmap(one, (None, 0, 0))
        return jax.vmap(over_draws, (0, None, 0))(jnp.arange(types), jnp.arange(draws) / draws, keys)

    def decisions(self, state: Any, name: str) -> tuple[set[tuple[int, ...]], dict[str, float]]:
        """The cells that a type goes for, and the shares of its actions, over many draws."""
        state = self.read(state) if isinstance(state, str) else state
        type_ = self.family.names.index(name)
        cells, actions = (np.asarray(each[type_]) for each in self.compiled(state, DRAWS))
        shares = np.bincount(actions, minlength=len(self.actions)) / DRAWS
        return {tuple(cell) for cell in cells.tolist()}, {self.actions[a]: shares[a] for a in np.flatnonzero(shares)}

    def goes_for(self, state: Any, name: str) -> tuple[int, ...]:
        """Its only target."""
        (cell,) = self.decisions(state, name)[0]
        return cell

    def does(self, state: Any, name: str = "H1") -> str:
        """Its only action."""
        (action,) = self.decisions(state, name)[1]
        return action

    def acts_at_random(self, state: Any, name: str, legal: Any) -> None:
        """It does all that is legal equally often, and nothing else."""
        shares = self.decisions(state, name)[1]
        assert set(shares) == set(legal)
        assert max(abs(share - 1 / len(legal)) for share in shares.values()) < 0.06
