"""The authors' two prey of Wolfpack: networks on pictures of what is ahead, with a memory of five of them."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.errors import UserError
from openteam.models.layers import MLP
from openteam.teammates.authors.layers import Numbers, Recurrent, mlp
from openteam.teammates.authors.store import AbstractPublished, State, check_names
from openteam.worlds.wolfpack.prey import AbstractPrey
from openteam.worlds.wolfpack.state import WolfpackState, displacement, inside

FRAMES, GATES = 5, 128
REACH = 8  # cells ahead and to either side
ROWS, COLUMNS = REACH + 1, 2 * REACH + 1
FREE, HUNTER, LIVE, OUTSIDE = (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)
EPSILON = 1e-5


class ChannelNorm(eqx.Module):
    """Batch normalisation with the statistics that it has collected; the convolution's bias is part of its shift."""

    scale: Float[Numbers, "channels"]
    shift: Float[Numbers, "channels"]

    @classmethod
    def of(cls, state: State, number: int) -> ChannelNorm:
        """The one after the convolution of that number."""
        name = f"bn{number}"
        scale = state[f"{name}.weight"] / np.sqrt(state[f"{name}.running_var"] + EPSILON)
        return cls(scale, state[f"{name}.bias"] + (state[f"conv{number}.bias"] - state[f"{name}.running_mean"]) * scale)

    def __call__(self, x: Float[Array, "channels rows columns"]) -> Float[Array, "channels rows columns"]:
        return x * self.scale[:, None, None] + self.shift[:, None, None]


class PreyNetwork(eqx.Module):
    """Two convolutions, each normalised, a long short-term memory over five frames, and values of seven actions."""

    first: Float[Numbers, "out in 4 4"]
    second: Float[Numbers, "more out 2 2"]
    norms: tuple[ChannelNorm, ChannelNorm]
    lstm: Recurrent
    head: MLP

    @classmethod
    def of(cls, state: State) -> PreyNetwork:
        """The network with these numbers."""
        norms = ChannelNorm.of(state, 1), ChannelNorm.of(state, 2)
        lstm, head = Recurrent.of(state, "lstm"), mlp(state, ("head",), 32)
        return cls(state["conv1.weight"], state["conv2.weight"], norms, lstm, head)

    def read(self, frame: Float[Array, "3 rows columns"]) -> Float[Array, "gates"]:
        """What one frame adds to the gates of the memory."""
        x = jax.nn.relu(self.norms[0](convolve(frame, self.first)))
        x = jax.nn.relu(self.norms[1](convolve(largest(x, 3), self.second)))
        return self.lstm.read(largest(x, 2).ravel())

    def values(self, frames: Float[Array, "frames gates"]) -> Float[Array, "actions"]:
        """Values after the last frames, oldest first, as they were ``read``; the recurrence starts from nothing."""
        hidden = cell = jnp.zeros(self.lstm.hidden.shape[0], frames.dtype)
        for frame in frames:
            hidden, cell = self.lstm.step(hidden, cell, frame)
        return self.head(hidden)


def convolve(x: Float[Array, "in rows columns"], weight: Float[Numbers, "out in _ _"]) -> Float[Array, "out _ _"]:
    """Cross-correlation without padding, as one matrix product."""
    _, _, height, width = weight.shape
    rows, columns = x.shape[1] - height + 1, x.shape[2] - width + 1
    patches = [x[:, r : r + rows, c : c + columns] for r in range(height) for c in range(width)]
    return jnp.einsum("oik,kirc->orc", weight.reshape(*weight.shape[:2], -1), jnp.stack(patches))


def largest(x: Float[Array, "channels rows columns"], size: int) -> Float[Array, "channels _ _"]:
    """The largest of every square of this size."""
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    x = jnp.stack([x[:, r : r + rows] for r in range(size)]).max(0)
    return jnp.stack([x[:, :, c : c + columns] for c in range(size)]).max(0)


def frames(state: WolfpackState, size: int) -> Int[Array, "prey rows columns 3"]:
    """What each prey sees, turned so that ahead is up; its own cell is the middle of the last row.

    Hunters are white, live prey red, cells off the grid blue, all else black: also a prey that was just captured.
    """
    ahead, right = REACH - np.arange(ROWS)[:, None, None], np.arange(COLUMNS)[None, :, None] - REACH
    forward, aside = (displacement((state.facing + turn) % 4)[:, None, None] for turn in (0, 1))
    cell = state.prey_position[:, None, None] + ahead * forward + right * aside

    def holds(bodies: Int[Array, "bodies 2"], there: Array) -> Array:
        return ((cell[..., None, :] == bodies).all(-1) & there).any(-1)[..., None]

    colours = jnp.where(holds(state.prey_position, ~state.captured), jnp.array(LIVE), jnp.array(FREE))
    colours = jnp.where(holds(state.position, state.present), jnp.array(HUNTER), colours)
    return jnp.where(inside(cell, size)[..., None], colours, jnp.array(OUTSIDE))


class PreyMemory(eqx.Module):
    """The last frames, oldest first, as each prey's network has ``read`` them; frames before the episode are black."""

    frames: Float[Array, "prey frames gates"]
    seen: Bool[Array, "prey frames"]


class PublishedPrey(AbstractPrey, AbstractPublished):
    """The authors' prey, each with a network of its own, which takes the action with the highest value."""

    group: ClassVar[str] = "wolfpack"
    names: tuple[str, ...] = eqx.field(static=True, default=("prey-0", "prey-1"))
    """The networks that the prey follow, one for each."""

    def __check_init__(self) -> None:
        check_names(self, "prey")

    @property
    def networks(self) -> list[PreyNetwork]:
        return [PreyNetwork.of(agent["network"]) for agent in self.agents.values()]

    def check(self, prey: int) -> None:
        if prey != len(self.names):
            raise UserError(
                f"PublishedPrey names {len(self.names)} networks and the world has {prey} prey. Name one for each prey."
            )

    def start(self) -> PreyMemory:
        prey = len(self.names)
        return PreyMemory(jnp.zeros((prey, FRAMES, GATES)), jnp.zeros((prey, FRAMES), bool))

    def watch(self, state: WolfpackState, size: int) -> PreyMemory:
        colours = jnp.moveaxis(frames(state, size), -1, 1).astype(jnp.float32)
        now = [network.read(frame) for network, frame in zip(self.networks, colours, strict=True)]
        old: PreyMemory = state.prey_memory
        return PreyMemory(
            jnp.concatenate([old.frames[:, 1:], jnp.stack(now)[:, None]], 1),
            jnp.concatenate([old.seen[:, 1:], jnp.ones((len(now), 1), bool)], 1),
        )

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        del key, size
        memory: PreyMemory = state.prey_memory
        values = [
            network.values(jnp.where(seen[:, None], read, network.read(jnp.zeros((3, ROWS, COLUMNS)))))
            for network, read, seen in zip(self.networks, memory.frames, memory.seen, strict=True)
        ]
        return jnp.argmax(jnp.stack(values), -1).astype(jnp.int32)
