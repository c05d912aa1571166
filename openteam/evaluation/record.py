"""One episode to look at: states, actions, rewards, and an animation of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.world import Drawable
from openteam.errors import UserError
from openteam.task import Task


class Recording:
    """An episode of n steps: n + 1 world states, n rewards of the learner."""

    def __init__(self, states: list[Any], rewards: np.ndarray):
        self.states = states
        self.rewards = rewards

    @property
    def total(self) -> float:
        return float(self.rewards.sum())


def record(policy: AbstractPolicy, task: Task, *, seed: int = 0, best_of: int = 1) -> Recording:
    """One episode; of several, the one with the highest return."""
    keys = jax.random.split(make_key(seed), best_of)
    states, rewards, ends = jax.device_get(_play(task, policy, keys))
    lengths = ends.argmax(1) + 1
    returns = np.array([row[:length].sum() for row, length in zip(rewards, lengths, strict=True)])
    chosen = int(returns.argmax())
    frames = [jax.tree.map(lambda leaf, n=n: leaf[chosen, n], states) for n in range(int(lengths[chosen]) + 1)]
    return Recording(frames, rewards[chosen, : lengths[chosen]])


@eqx.filter_jit
def _play(task: Task, policy: AbstractPolicy, keys: Key[Array, "episodes"]) -> tuple[Any, Array, Array]:
    def episode(key: Array) -> tuple[Any, Array, Array]:
        k_start, k_steps = jax.random.split(key)
        env, timestep = task.reset(k_start)

        def step(carry: tuple, number: Array) -> tuple:
            env, timestep, memory = carry
            k_act, k_env = jax.random.split(jax.random.fold_in(k_steps, number))
            action, memory = policy.act(k_act, memory, timestep.obs, timestep.fresh)
            env, timestep, _ = task.advance(k_env, env, action)
            return (env, timestep, memory), (env.world, timestep.reward, timestep.ends)

        first = (env, timestep, policy.start(task.slots))
        _, (worlds, rewards, ends) = jax.lax.scan(step, first, jnp.arange(task.horizon))
        worlds = jax.tree.map(lambda start, rest: jnp.concatenate([start[None], rest]), env.world, worlds)
        return worlds, rewards, ends

    return jax.vmap(episode)(keys)


def write_gif(path: Path, task: Task, recording: Recording, *, milliseconds: int = 250) -> None:
    """An animated picture with a caption: step, return so far, agents present."""
    if not isinstance(task.world, Drawable):
        raise UserError(f"{type(task.world).__name__} cannot draw itself: give it methods rgb(state) and text(state).")
    try:
        from PIL import Image
    except ImportError:
        raise UserError("An animation needs Pillow. Install it: pip install 'openteam[plots]'") from None
    returns = np.concatenate([[0.0], np.cumsum(recording.rewards)])
    frames = []
    for number, (state, total) in enumerate(zip(recording.states, returns, strict=True)):
        caption = f"{task.name}   step {number:2d}   return {total:g}   agents {int(state.present.sum())}"
        frames.append(_with_caption(Image.fromarray(task.world.rgb(state)), caption))
    times = [milliseconds] * (len(frames) - 1) + [4 * milliseconds]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)


def _with_caption(picture: Any, caption: str) -> Any:
    from PIL import Image, ImageDraw, ImageFont

    height = 28
    whole = Image.new("RGB", (picture.width, picture.height + height), "white")
    whole.paste(picture, (0, height))
    ImageDraw.Draw(whole).text((8, 6), caption, fill="#333333", font=ImageFont.load_default(14))
    return whole
