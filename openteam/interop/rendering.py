"""Drawing an environment in the modes that Gymnasium and PettingZoo know."""

from __future__ import annotations

import importlib.util
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from openteam.compile_cache import quick_jit
from openteam.core.world import Drawable
from openteam.drawing.record import dim
from openteam.errors import UserError
from openteam.task import Task

RENDER_MODES = ["rgb_array", "ansi"]
FRAMES_PER_SECOND = 4


def metadata_of(task: Task) -> dict[str, Any]:
    """In which modes a task can be drawn."""
    modes = list(RENDER_MODES) if isinstance(task.world, Drawable) else []
    return {"render_modes": modes, "render_fps": FRAMES_PER_SECOND}


def check_render_mode(task: Task, mode: str | None) -> None:
    """Raise unless the task can be drawn that way."""
    if mode is None:
        return
    if not isinstance(task.world, Drawable):
        raise UserError(
            f"'{task.name}' has no drawing: {type(task.world).__name__} has no methods rgb(state) and text(state). "
            "Make it without a render_mode."
        )
    if mode not in RENDER_MODES:
        raise UserError(f"render_mode must be one of {', '.join(RENDER_MODES)}; got '{mode}'.")
    if mode == "rgb_array" and importlib.util.find_spec("PIL") is None:
        raise UserError("Pictures need Pillow: pip install 'openteam[plots]', or render_mode 'ansi'.")


def draw(task: Task, mode: str | None, world: Any, *, fog: bool) -> np.ndarray | str | None:
    """A state of the task's world, with fog over what the learner does not see."""
    if mode is None or not isinstance(task.world, Drawable):
        return None
    state = jax.device_get(world)
    if mode == "ansi":
        return task.world.text(state)
    picture = task.world.rgb(state)
    return dim(picture, np.asarray(in_sight(task, world))) if fog else picture


@quick_jit
def in_sight(task: Task, world: Any) -> Bool[Array, "rows columns"]:
    """Which cells the learner sees."""
    return task.view.sees(task.world, world, jnp.zeros((), jnp.int32))
