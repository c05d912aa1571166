"""Type inference over several steps and environments against one step of one environment after the other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from openteam.core.types import Observation, Spec
from openteam.models.lstm import LSTMState
from openteam.models.types import TypeInference

TIME, ENVS, SLOTS = 6, 2, 3
SPEC = Spec(agent_features=3, shared_features=2, actions=4)


def random(*shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def inference() -> TypeInference:
    """A network with random weights that cost no compilation."""
    shapes = eqx.filter_eval_shape(TypeInference, jax.random.key(0), SPEC, encoder_width=6, hidden=5, type_size=4)
    leaves, tree = jax.tree.flatten(shapes)
    return jax.tree.unflatten(tree, [0.5 * random(*leaf.shape, seed=n) for n, leaf in enumerate(leaves)])


def observations() -> Observation:
    batch = (TIME, ENVS)
    return Observation(
        agents=random(*batch, SLOTS, SPEC.agent_features, seed=20),
        shared=random(*batch, SPEC.shared_features, seed=21),
        visible=jnp.ones((*batch, SLOTS), bool),
        legal=jnp.ones((*batch, SPEC.actions), bool),
    )


def fresh_flags() -> jax.Array:
    return jnp.asarray(np.random.default_rng(22).random((TIME, ENVS, SLOTS)) < 0.3)


def remembered() -> LSTMState:
    """What two environments remember of three slots each."""
    rows = ENVS, SLOTS
    return LSTMState(random(*rows, 5, seed=30), random(*rows, 5, seed=31), jnp.zeros((*rows, 20)))


@eqx.filter_jit
def step_by_step(model: TypeInference, memory: LSTMState, obs: Observation, fresh: jax.Array) -> tuple:
    """Types and memories after every step, by the step that a rollout takes."""

    def step(memory, now):
        types, memory = jax.vmap(model.step)(memory, *now)
        return memory, (types, memory)

    return jax.lax.scan(step, memory, (obs, fresh))[1]


def test_unrolling_equals_stepping():
    model, obs, fresh = inference(), observations(), fresh_flags()
    _, memories = step_by_step(model, remembered(), obs, fresh)
    unrolled = eqx.filter_jit(TypeInference.unroll)(model, remembered(), obs, fresh)
    np.testing.assert_allclose(unrolled.hidden, memories.hidden, atol=1e-6)
    np.testing.assert_allclose(unrolled.cell, memories.cell, atol=1e-6)


def test_what_is_fresh_is_known_only_by_what_is_seen_now():
    model, obs, before = inference(), observations(), remembered()
    nobody = jnp.zeros((TIME, ENVS, SLOTS), bool)
    known, _ = step_by_step(model, before, obs, nobody)
    cleared, _ = step_by_step(model, before, obs, nobody.at[0, 0, 1].set(True))
    blank, _ = step_by_step(model, jax.tree.map(jnp.zeros_like, before), obs, nobody)
    np.testing.assert_array_equal(cleared[:, 0, 1], blank[:, 0, 1])
    np.testing.assert_array_equal(cleared[:, 0, [0, 2]], known[:, 0, [0, 2]])
    np.testing.assert_array_equal(cleared[:, 1], known[:, 1])
    assert not np.allclose(blank[:, 0, 1], known[:, 0, 1])


def test_recorded_types_and_their_gradients_equal_stepping():
    model, obs, fresh = inference(), observations(), fresh_flags()
    types, memories = step_by_step(model, remembered(), obs, fresh)
    weight = random(*types.shape, seed=40)

    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def recorded(model):
        types = model.recorded_types(remembered(), memories, obs, fresh)
        return (weight * types).sum(), types

    @eqx.filter_jit
    @eqx.filter_grad
    def stepped(model):
        return (weight * step_by_step(model, remembered(), obs, fresh)[0]).sum()

    (_, again), gradient = recorded(model)
    np.testing.assert_allclose(again, types, atol=1e-6)
    for hand, auto in zip(jax.tree.leaves(gradient), jax.tree.leaves(stepped(model)), strict=True):
        np.testing.assert_allclose(hand, auto, rtol=1e-4, atol=1e-5)
