"""The distributions of the particle filter: proposals, which know the observation, and targets, which do not.

Paper, "Particle-based Belief", and its appendix on the architecture. All are written for one particle.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.core.types import Observation, Spec
from openteam.models.agent import AgentModelSizes, RelationalForwardModel
from openteam.models.belief.decoder import Decoder
from openteam.models.belief.existence import ExistenceModel
from openteam.models.belief.hypotheses import preprocessed
from openteam.models.belief.particles import Guess, GuessNoise
from openteam.models.layers import MLP, Linear
from openteam.models.lstm import LSTM, LSTMState
from openteam.models.straight_through import straight_through

FLOOR = 0.05  # the smallest spread of a state
CERTAINTY = 3.0  # states begin with a spread of about 0.1: with a larger one the noise hides everything at first


class StateModel(eqx.Module):
    """P(e_t, s_t | e_t-1, s_t-1, a_t-1): existence one agent after the other, and a normal distribution of states."""

    trunk: MLP
    existence: ExistenceModel
    normal: Linear

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, ...], *, width: int, state: int):
        k_trunk, k_existence, k_normal = jax.random.split(key, 3)
        self.trunk = MLP(k_trunk, sizes, width, width)
        self.existence = ExistenceModel(k_existence, width, width=width // 2)
        self.normal = Linear(k_normal, width, 2 * state)

    def __call__(self, *inputs: Float[Array, "slots _"]) -> tuple[Array, Array, Array]:
        """The features that existence is inferred from, and mean and spread of the state."""
        features = jax.nn.relu(self.trunk(*inputs))
        mean, spread = jnp.split(self.normal(features), 2, -1)
        return features, mean, jax.nn.softplus(spread - CERTAINTY) + FLOOR


class Proposal(eqx.Module):
    """The distribution that a guess was drawn from."""

    action: Float[Array, "*batch slots actions"]  # logits
    features: Float[Array, "*batch slots width"]  # existence was inferred from these
    mean: Float[Array, "*batch slots state"]
    spread: Float[Array, "*batch slots state"]


class ProposalModel(eqx.Module):
    """p_alpha(a_t-1 | ..., o_t), p_beta(e_t, s_t | ..., o_t) and the type update f_delta."""

    encoder: MLP
    action: RelationalForwardModel
    state: StateModel
    types: LSTM

    def __init__(
        self, keys: tuple[Key[Array, ""], ...], spec: Spec, agent: AgentModelSizes, *,
        encoding: int, state: int, type_size: int, width: int,
    ):  # fmt: skip
        k_encoder, k_action, k_state, k_types = keys
        seen, actions = preprocessed(spec), spec.actions
        self.encoder = MLP(k_encoder, (seen.agent_features, seen.shared_features), width, encoding)
        self.action = agent.build(k_action, state + type_size + encoding, actions)
        self.state = StateModel(k_state, (state + actions + 1, encoding), width=width, state=state)
        self.types = LSTM(k_types, state + actions, type_size)

    def encode(self, seen: Observation) -> Float[Array, "slots encoding"]:
        """What all particles are given of an observation."""
        return jax.nn.relu(self.encoder(seen.agents, seen.shared))

    def __call__(
        self,
        before: Guess,
        noise: GuessNoise,
        seen: Observation,
        encoded: Float[Array, "slots encoding"],
        exists: Float[Array, "slots"] | None = None,
    ) -> tuple[Guess, Proposal]:
        """Draw actions, existence (unless it was recorded) and states, then update types."""
        logits = self.action(jnp.concatenate([before.representation, encoded], -1), before.exists)
        action = straight_through(logits + noise.action) * before.exists[:, None]
        action = action.at[0].set(seen.shared[-action.shape[-1] :])  # the learner knows its own
        features, mean, spread = self.state(history(before, action), encoded)
        if exists is None:
            exists = self.state.existence.infer(features, seen.visible, noise.exists)
        state = (mean + spread * noise.state) * exists[:, None]
        types = LSTMState(before.type, before.cell, before.type[:, :0])
        types = self.types.step(types, jnp.concatenate([state, action], -1), exists == 0)
        after = Guess(action, exists, state, types.hidden * exists[:, None], types.cell * exists[:, None])
        return after, Proposal(logits, features, mean, spread)


class TargetModel(eqx.Module):
    """p_alpha(a_t-1 | ...), which is also GPL's agent model, q_beta(e_t, s_t | ...) and q_zeta(o_t | s_t, a_t-1)."""

    action: RelationalForwardModel
    state: StateModel
    observation: Decoder

    def __init__(
        self, keys: tuple[Key[Array, ""], ...], spec: Spec, agent: AgentModelSizes, *,
        state: int, type_size: int, width: int, learned_spread: bool,
    ):  # fmt: skip
        k_action, k_state, k_observation = keys
        actions = spec.actions
        self.action = agent.build(k_action, state + type_size, actions)
        self.state = StateModel(k_state, (state + actions + 1,), width=width, state=state)
        self.observation = Decoder(k_observation, state + actions, spec, width=width, learned_spread=learned_spread)

    def predict(self, guess: Guess) -> Float[Array, "slots actions"]:
        """Logits of everybody's next action."""
        return self.action(guess.representation, guess.exists)


def history(before: Guess, action: Float[Array, "slots actions"]) -> Float[Array, "slots history"]:
    """A state model's input: every agent's last state, what it did there, and whether it existed."""
    return jnp.concatenate([before.state, action, before.exists[:, None]], -1)
