"""Type inference: what each agent's past says about it (paper, section "Type Inference")."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Key

from openteam.core.types import Observation, Spec
from openteam.models.layers import MLP, Linear
from openteam.models.lstm import LSTM, LSTMState, recorded_hidden


class TypeInference(eqx.Module):
    """theta_t = LSTM_alpha(B_t, theta_{t-1}, c_{t-1}), B_t = [x_j, u] for every agent j."""

    encoder: MLP
    lstm: LSTM
    head: Linear

    def __init__(self, key: Key[Array, ""], spec: Spec, *, encoder_width: int, hidden: int, type_size: int):
        k_encoder, k_lstm, k_head = jax.random.split(key, 3)
        sizes = (spec.agent_features, spec.shared_features)
        self.encoder = MLP(k_encoder, sizes, encoder_width, encoder_width)
        self.lstm = LSTM(k_lstm, encoder_width, hidden)
        self.head = Linear(k_head, hidden, type_size)

    def start(self, slots: int) -> LSTMState:
        return self.lstm.start(slots)

    def step(
        self, state: LSTMState, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "slots type"], LSTMState]:
        """Types of all slots after one more observation. Rows of unseen agents mean nothing."""
        state = self.lstm.step(state, self.encode(obs), fresh)
        return self.types(state.hidden), state

    def encode(self, obs: Observation) -> Float[Array, "*batch slots width"]:
        return self.encoder(obs.agents, obs.shared[..., None, :])

    def types(self, hidden: Float[Array, "*rows hidden"]) -> Float[Array, "*rows type"]:
        return self.head(jax.nn.relu(hidden))

    def recorded_types(
        self, before: LSTMState, states: LSTMState, obs: Observation, fresh: Bool[Array, "time envs slots"]
    ) -> Float[Array, "time envs slots type"]:
        """The types of steps already taken with this very model, ready to be differentiated."""
        time, *rows = fresh.shape

        def flat(leaf: Array, axes: int) -> Array:
            return leaf.reshape(*leaf.shape[:axes], -1, leaf.shape[-1])

        hidden = recorded_hidden(
            self.lstm,
            flat(self.encode(obs), 1),
            fresh.reshape(time, -1),
            jax.tree.map(lambda leaf: flat(leaf, 0), before),
            jax.tree.map(lambda leaf: flat(leaf, 1), states),
        )
        return self.types(hidden.reshape(time, *rows, -1))

    def unroll(self, state: LSTMState, obs: Observation, fresh: Bool[Array, "time envs slots"]) -> LSTMState:
        """States after each of several steps of several environments; only the recurrence is sequential."""
        encoded = self.encode(obs)

        def step(state: LSTMState, now: tuple[Array, Array]) -> tuple[LSTMState, LSTMState]:
            state = jax.vmap(self.lstm.step)(state, *now)
            return state, state

        return jax.lax.scan(step, state, (encoded, fresh), unroll=min(len(fresh), 8))[1]
