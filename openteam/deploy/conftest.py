"""Every algorithm with small networks, and a task in which teammates come, go and are seen or not."""

import dataclasses

import equinox as eqx
import jax

import openteam
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.openness.lifetimes import Lifetimes
from openteam.views import Window

WIDTHS = ("width", "hidden", "encoder_width", "utility_width", "decoder_width", "observation_width")
SMALL = dict.fromkeys(WIDTHS, 6) | {
    "type_size": 4, "embedding": 4, "readout_width": 5, "representation": 4, "encoding": 4, "state": 4,
    "action_size": 3, "latent": 4, "history_size": 4, "head_size": 4, "heads": 2, "rank": 2, "particles": 3,
    "samples": 3,
}  # fmt: skip
WORLD = openteam.Foraging(size=5, foods=1)
OPENNESS = Lifetimes(cap=4, start_low=2, start_high=3, teammates=4, lifetime=(2, 5), wait=(1, 3))
POOL = openteam.Pool((openteam.Foragers(("H1", "H4")),))
FULL = openteam.Task(name="tiny", world=WORLD, pool=POOL, openness=OPENNESS, horizon=12)
PARTIAL = dataclasses.replace(FULL, name="tiny-partial", view=Window())


def small(settings):
    """The same algorithm with few numbers."""
    if not isinstance(settings, eqx.Module):
        return settings
    fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings) if field.init}
    changed = {
        name: SMALL[name] if name in SMALL and isinstance(value, int) and value > SMALL[name] else small(value)
        for name, value in fields.items()
    }
    return dataclasses.replace(settings, **changed)


def new_policy(learner, task, seed=0):
    """A policy that learned nothing but has opinions: its numbers are large."""
    init = once_jit(lambda key: jax.tree.map(lambda x: 2 * x, learner.init(key, task.spec).model))
    return learner.frozen(init(random.key(seed)))
