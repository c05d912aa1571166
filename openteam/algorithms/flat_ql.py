"""Deep recurrent Q-learning on one flat vector, as the paper's QL most likely was run.

The released environments also give the whole team as a vector of fixed length, with teammates at shuffled places. One
LSTM remembers the team as a whole, where ``ql`` has a memory of every agent (paper, "Evaluated Algorithms").
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from openteam.algorithms.control import AbstractControl, choice_probabilities, choose, legal_values
from openteam.algorithms.gpl import squared_td_error
from openteam.algorithms.td import AbstractTDLearner
from openteam.core.learner import Metrics, TrainState
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Chunk, Observation, Spec, View, over_chunk
from openteam.errors import check_positive
from openteam.models.fixed_slots import FixedSlots, FlatObservation, fixed_size
from openteam.models.layers import MLP
from openteam.models.lstm import LSTMState, without_gates
from openteam.models.types import TypeInference


class TeamMemory(eqx.Module):
    """What is remembered of the team as a whole."""

    order: Float[Array, "*batch entries"]  # in which free entries of the vector are taken next
    state: LSTMState  # of one row


class FlatValues(eqx.Module):
    """Q(H, .) = MLP(h), h = LSTM(MLP(the flat vector))."""

    history: TypeInference  # with the whole team as its only agent
    values: MLP

    def __call__(self, history: Float[Array, "*batch 1 size"]) -> Float[Array, "*batch actions"]:
        return self.values(history[..., 0, :])


class FlatModel(eqx.Module):
    """Everything that is learned, and where everybody's features stand in the vector."""

    value: FlatValues
    flat: FlatObservation
    spec: Spec = eqx.field(static=True)

    def start(self, slots: int) -> Memory[TeamMemory, Int[Array, "slots"]]:
        order, entry = self.flat.slots.start(slots)
        return Memory(TeamMemory(order, self.value.history.start(1)), entry)

    def enter(self, memory: Memory[TeamMemory, Int[Array, "slots"]], view: View) -> Int[Array, "slots"]:
        """Everybody's entry in the vector after one more view."""
        return self.flat.slots.step(memory.team.order, memory.slots, view.fresh)

    def one_row(self, obs: Observation, entry: Int[Array, "slots"]) -> Observation:
        """The team as a single agent with all its features."""
        return Observation(self.flat(obs, entry)[None], jnp.zeros(0), jnp.ones(1, bool), obs.legal)


class FlatQLPolicy(AbstractPolicy):
    """Acts on the values of a flat vector's history by its control; greedily without one."""

    model: FlatModel
    control: AbstractControl | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory[TeamMemory, Int[Array, "slots"]]:
        memory = self.model.start(slots)
        return without_gates(memory) if self.control is None else memory

    def decide(self, key: Key[Array, ""], memory: Memory[TeamMemory, Int[Array, "slots"]], view: View) -> Decision:
        model, entry = self.model, self.model.enter(memory, view)
        row = model.one_row(view.obs, entry)
        history, state = model.value.history.step(memory.team.state, row, view.starts[None])
        values = model.value(history)
        behaviour = values, view.obs.legal if self.mask_illegal else None, self.control, self.progress
        explanation = Explanation(action_values=values, probabilities=choice_probabilities(*behaviour))
        order = model.flat.slots.draw(jax.random.fold_in(key, 1))
        return Decision(choose(key, *behaviour), Memory(TeamMemory(order, state), entry), explanation)


class FlatQL(AbstractTDLearner):
    """Q-learning with one memory of the whole team, for teams of limited size. Sizes are GPL's for foraging."""

    max_agents: int | None = eqx.field(static=True, default=None)
    """The most agents there can ever be; by default the largest team of the task and its splits."""
    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    history_size: int = eqx.field(static=True, default=70)
    """Length of the vector that the value network reads."""
    width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the value network."""

    def __check_init__(self) -> None:
        check_positive(self, "max_agents", "encoder_width", "hidden", "history_size", "width")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_history, k_values = jax.random.split(key)
        flat = FlatObservation(FixedSlots(fixed_size("FlatQL", self.max_agents, spec)))
        one_row = dataclasses.replace(spec, agent_features=flat.size(spec), shared_features=0)
        history = TypeInference(
            k_history, one_row, encoder_width=self.encoder_width, hidden=self.hidden, type_size=self.history_size
        )
        values = MLP(k_values, self.history_size, self.width, self.width, spec.actions)
        return self.optimiser.start(FlatModel(FlatValues(history, values), flat, spec))

    def policy(self, model: FlatModel, progress: Float[Array, ""]) -> FlatQLPolicy:
        return FlatQLPolicy(model, self.control, progress, self.mask_illegal)

    def frozen(self, model: FlatModel) -> FlatQLPolicy:
        return FlatQLPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> LSTMState:
        """The target network's memory."""
        del slots
        return state.target.history.start(1)

    def update(
        self, key: Key[Array, ""], state: TrainState, context: LSTMState, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, LSTMState, Metrics]:
        del key  # nothing in it is random
        views = chunk.timesteps.view
        rows = over_chunk(state.model.one_row)(views.obs, chunk.memory.slots)
        target_states = state.target.history.unroll(context, rows, views.starts[..., None])
        y = self.targets(state, target_states, chunk, progress)

        def loss(model: FlatModel) -> tuple[Float[Array, ""], Metrics]:
            history = model.value.history.recorded_types(
                chunk.before.team.state, chunk.memory.team.state, rows, views.starts[..., None]
            )
            predicted = jnp.take_along_axis(model.value(history), chunk.actions[..., None], -1)[..., 0]
            value_loss = squared_td_error(predicted, y)
            return value_loss, {"value_loss": value_loss, "action_value": predicted.mean()}

        state, metrics = self.optimiser.step(state, loss)
        return state, jax.tree.map(lambda leaf: leaf[-1], target_states), metrics

    def targets(
        self, state: TrainState, target_states: LSTMState, chunk: Chunk, progress: Float[Array, ""]
    ) -> Float[Array, "time envs"]:
        """y = r + gamma max_a Q'(H', a), H' being the history up to where each action truly led."""
        after = chunk.next_timesteps
        entry = over_chunk(state.model.enter)(chunk.memory, after.final_view)
        rows = over_chunk(state.model.one_row)(after.final_view.obs, entry)
        history, _ = over_chunk(state.target.history.step)(target_states, rows, after.final_view.starts[..., None])
        values = state.target(history)
        if self.mask_illegal:
            values = legal_values(values, after.final_view.obs.legal)
        return self.control.target(after.reward, self.discount * after.discount, values, progress)
