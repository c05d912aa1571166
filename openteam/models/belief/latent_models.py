"""The distributions of the particle filter: proposals, which know the observation, and targets, which do not.

Paper, "Particle-based Belief", and its appendix on the architecture. All are written for one particle.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Observation, Spec
from openteam.errors import check_not_negative
from openteam.models.agent import AgentModelSizes, RelationalForwardModel
from openteam.models.belief.decoder import Decoder
from openteam.models.belief.existence import ExistenceModel
from openteam.models.belief.hypotheses import preprocessed
from openteam.models.belief.particles import Guess, GuessNoise
from openteam.models.layers import MLP, Linear
from openteam.models.lstm import LSTM, LSTMState
from openteam.models.straight_through import straight_through


class ParticleModels(AbstractChecked):
    """What the particle filter's distributions are like, where the paper and the released code differ or are silent."""

    spread_floor: float = eqx.field(static=True, default=0.05)
    """The smallest spread of a state; 0 in the released code."""
    spread_offset: float = eqx.field(static=True, default=3.0)
    """A state's spread is softplus(x - offset) + floor: about 0.1 at first, because with the released code's 0 it is
    0.7, and noise hides everything. The narrower proposals are, the more p(s)/q(s) varies beside p(o)."""
    types_in_states: bool = eqx.field(static=True, default=False)
    """Networks of states and the decoder of observations read types (the released code). In the paper they do not."""
    score_function: bool = eqx.field(static=True, default=False)
    """Drawn actions are learned by the score function and weighed by the target's probability alone (released code).
    In the paper their weight is p(a)/q(a); they then have the gradient of a softmax."""
    bernoulli_visibility: bool = eqx.field(static=True, default=False)
    """Whether an agent is seen is a Bernoulli variable (the released code). If not it is a feature like any other."""

    def __check_init__(self) -> None:
        check_not_negative(self, "spread_floor")

    def history(self, before: Guess, action: Float[Array, "slots actions"]) -> Float[Array, "slots history"]:
        """A state model's input: every agent's last state, what it did there, whether it existed, perhaps its type."""
        known = (before.state, action, before.exists[:, None])
        return jnp.concatenate((*known, before.type) if self.types_in_states else known, -1)

    def explains(self, after: Guess) -> Float[Array, "slots explanation"]:
        """The input of the decoder of observations: every agent's state, what led there, perhaps its type."""
        known = (after.state, after.action)
        return jnp.concatenate((*known, after.type) if self.types_in_states else known, -1)


class StateModel(eqx.Module):
    """P(e_t, s_t | e_t-1, s_t-1, a_t-1): existence one agent after the other, and a normal distribution of states."""

    trunk: MLP
    existence: ExistenceModel
    normal: Linear
    models: ParticleModels

    def __init__(
        self, key: Key[Array, ""], sizes: tuple[int, ...], *, width: int, state: int, models: ParticleModels
    ):  # fmt: skip
        k_trunk, k_existence, k_normal = jax.random.split(key, 3)
        self.trunk = MLP(k_trunk, sizes, width, width)
        self.existence = ExistenceModel(k_existence, width, width=width // 2)
        self.normal = Linear(k_normal, width, 2 * state)
        self.models = models

    def __call__(self, *inputs: Float[Array, "slots _"]) -> tuple[Array, Array, Array]:
        """The features that existence is inferred from, and mean and spread of the state."""
        features = jax.nn.relu(self.trunk(*inputs))
        mean, spread = jnp.split(self.normal(features), 2, -1)
        return features, mean, jax.nn.softplus(spread - self.models.spread_offset) + self.models.spread_floor


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
    models: ParticleModels

    def __init__(
        self, keys: tuple[Key[Array, ""], ...], spec: Spec, agent: AgentModelSizes, *,
        encoding: int, state: int, type_size: int, width: int, models: ParticleModels,
    ):  # fmt: skip
        k_encoder, k_action, k_state, k_types = keys
        seen, actions = preprocessed(spec), spec.actions
        self.encoder = MLP(k_encoder, (seen.agent_features, seen.shared_features), width, encoding)
        self.action = agent.build(k_action, state + type_size + encoding, actions)
        types = type_size if models.types_in_states else 0
        self.state = StateModel(
            k_state, (state + actions + 1 + types, encoding), width=width, state=state, models=models
        )
        self.types = LSTM(k_types, state + actions, type_size)
        self.models = models

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
        action = jax.lax.stop_gradient(action) if self.models.score_function else action
        action = action.at[0].set(seen.shared[-action.shape[-1] :])  # the learner knows its own
        features, mean, spread = self.state(self.models.history(before, action), encoded)
        if exists is None:
            exists = self.state.existence.infer(features, seen.visible, noise.exists)
        state = (mean + spread * noise.state) * exists[:, None]
        types = LSTMState(before.type, before.cell, None)
        types = self.types.step(types, jnp.concatenate([state, action], -1), exists == 0)
        after = Guess(action, exists, state, types.hidden * exists[:, None], types.cell * exists[:, None])
        return after, Proposal(logits, features, mean, spread)


class TargetModel(eqx.Module):
    """p_alpha(a_t-1 | ...), which is also GPL's agent model, q_beta(e_t, s_t | ...) and q_zeta(o_t | s_t, a_t-1)."""

    action: RelationalForwardModel
    state: StateModel
    observation: Decoder
    models: ParticleModels

    def __init__(
        self, keys: tuple[Key[Array, ""], ...], spec: Spec, agent: AgentModelSizes, *,
        state: int, type_size: int, width: int, learned_spread: bool, models: ParticleModels,
    ):  # fmt: skip
        k_action, k_state, k_observation = keys
        actions = spec.actions
        self.action = agent.build(k_action, state + type_size, actions)
        known = state + actions + (type_size if models.types_in_states else 0)
        self.state = StateModel(k_state, (known + 1,), width=width, state=state, models=models)
        self.observation = Decoder(k_observation, known, spec, width=width, learned_spread=learned_spread)
        self.models = models

    def predict(self, guess: Guess) -> Float[Array, "slots actions"]:
        """Logits of everybody's next action."""
        return self.action(guess.representation, guess.exists)
