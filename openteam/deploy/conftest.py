"""Every algorithm with small networks, and a task in which teammates come, go and are seen or not."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.view import meet
from openteam.openness.lifetimes import Lifetimes
from openteam.registry import make_algorithm
from openteam.rollout.episodes import Episodes
from openteam.storage.config import to_json
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import RunFolder
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
        name: SMALL[name] if name in SMALL and isinstance(value, int) else small(value)
        for name, value in fields.items()
    }
    return dataclasses.replace(settings, **changed)


def new_policy(learner, task, scale=1.0):
    """A policy that learned nothing but has opinions: its numbers are large. Nothing is compiled for it."""
    shapes = jax.eval_shape(lambda: learner.init(random.key(0), task.spec).model)
    rng = np.random.default_rng(0)
    return learner.frozen(
        jax.tree.map(lambda leaf: jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype), shapes)
    )


@dataclasses.dataclass(frozen=True)
class Moment:
    """A step of an evaluation: the learner's view, and who is in sight."""

    view: openteam.View
    ids: list[str]  # by slot, in sight or not


@pytest.fixture(scope="session")
def evaluations():
    """Episodes of a random learner, each as it is seen in full and in part, by task."""
    reset, step, look = map(once_jit, (FULL.reset, FULL.step_within, PARTIAL.observe))
    episodes = {FULL.name: [], PARTIAL.name: []}
    for episode in range(3):
        key, first = jax.random.split(random.key(episode))
        state, now = reset(first)
        moments = {name: [] for name in episodes}
        last_seen = np.zeros(FULL.slots, np.int32)
        while not now.ends:
            ids = ["me", *(f"{slot}-{visit}" for slot, visit in enumerate(state.visits) if slot)]
            moments[FULL.name].append(Moment(jax.device_get(now.view), ids))
            key, k_look, k_step = jax.random.split(key, 3)
            obs = look(k_look, state.world)
            new, last_seen = meet(state.visits, jnp.asarray(last_seen), obs.visible)
            part = openteam.View(obs, now.view.starts, new, now.view.previous_action)
            moments[PARTIAL.name].append(Moment(jax.device_get(part), ids))
            state, now, _ = step(k_step, state, jnp.asarray(len(moments[FULL.name]) * 7 % 6))
        for name, steps in moments.items():
            episodes[name].append(steps)
    return episodes


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A run with a checkpoint, as training would leave it."""
    learner = small(make_algorithm("gpl-q-remembers", FULL))
    settings = {"steps": 100, "checkpoint_every": 100, "evaluation_episodes": 2}
    config = {"task": to_json(FULL), "learner": to_json(learner), "settings": settings, "seed": 4}
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "run", config)
    folder.append("episodes.jsonl", Episodes(np.array([1.0, 2.0]), np.array([7, 9])).rows(100, "train"))
    policy = new_policy(learner, FULL)
    save_policy(
        folder.checkpoint(100), learner, policy.model, task=FULL.name, spec=FULL.spec, step=100, run=folder.coverage()
    )
    return folder.path
