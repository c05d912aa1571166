"""What the driver trains."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree

from openteam.core.checked import AbstractChecked
from openteam.core.policy import AbstractPolicy
from openteam.core.sides import Sides
from openteam.core.types import Chunk, Spec

Metrics = dict[str, Float[Array, ""]]


class TrainState(eqx.Module):
    """Everything that learning changes."""

    model: PyTree[Any]
    target: PyTree[Any]
    opt_state: PyTree[Any]
    updates: Int[Array, ""]


class AbstractLearner(AbstractChecked):
    """An algorithm: a value made of hyperparameters, documented field by field.

    ``progress`` is the fraction of the run that is over, in [0, 1]; every schedule is a function of it, so a short run
    is a whole run. ``context`` is what updates carry from chunk to chunk for one environment, such as the memory of a
    target network.
    """

    envs: eqx.AbstractVar[int]
    """Environments that collect experience side by side."""
    update_every: eqx.AbstractVar[int]
    """Steps of each environment between two updates."""

    @property
    @abstractmethod
    def joint(self) -> bool:
        """Whether it acts for every slot of its task, not for the learner's alone."""

    @abstractmethod
    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        """New networks and optimiser."""

    @abstractmethod
    def policy(self, model: PyTree[Any], progress: Float[Array, ""]) -> AbstractPolicy:
        """How the learner behaves while it trains."""

    @abstractmethod
    def frozen(self, model: PyTree[Any]) -> AbstractPolicy:
        """How it behaves when it is evaluated or shipped: no exploration, no schedules."""

    @abstractmethod
    def context(self, state: TrainState, slots: int) -> PyTree[Any]:
        """What updates remember of one environment, before the first chunk."""

    @abstractmethod
    def update(
        self, key: Key[Array, ""], state: TrainState, context: PyTree[Any], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, PyTree[Any], Metrics]:
        """Learn from one chunk. ``context`` has a leading ``envs`` axis."""


class AbstractJointLearner(AbstractLearner):
    """Acts for all slots of a task, or for those of the first side, each with its own view and reward."""

    sides: eqx.AbstractVar[Sides]
    """Who is trained, and who sees whom."""

    @property
    def joint(self) -> bool:
        return True
