"""Training compiles once, however a run is cut into pieces."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from openteam import GPL, AgentModelSizes, CoordinationGraph, Factored
from openteam.core import random
from openteam.probes import PROBES
from openteam.training.loop import advance, start_carry

QUICKLY = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


def count(number: int) -> jax.Array:
    return jnp.asarray(number, jnp.int32)


def test_runs_of_any_length_share_one_compiled_program_and_pieces_make_the_whole():
    task = PROBES["teammate_joins"]()
    learner = GPL(
        envs=2, update_every=2, encoder_width=3, hidden=3, type_size=3, agent_model=AgentModelSizes(3, 3, 3),
        head=CoordinationGraph(Factored(1), width=3),
    )  # fmt: skip
    start = eqx.filter_jit(start_carry, compiler_options=QUICKLY)(task, learner, random.key(0))
    # Raises at the second trace.
    once = eqx.filter_jit(eqx.debug.assert_max_traces(advance, max_traces=1), compiler_options=QUICKLY)

    def run(carry, *pieces):
        for piece in pieces:
            carry, _ = once(task, learner, carry, jax.random.split(random.key(1)), count(piece), count(10))
        return carry

    whole, cut = run(start, 10), run(start, 1, 0, 2, 7)
    assert whole.train.updates == 10
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(cut), strict=True):
        np.testing.assert_array_equal(one, other)
