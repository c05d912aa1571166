"""Joint action values on a coordination graph, teammates marginalised out: the head of GPL and CIAO."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.learner import Metrics
from openteam.core.types import Spec
from openteam.errors import UserError, check_not_negative, check_positive
from openteam.models.fixed_slots import AnySlots
from openteam.models.graph import AbstractGraph
from openteam.models.joint_value import AbstractPairwise, JointValueModel, PerEdge, joint_value, marginalise
from openteam.models.utilities import AbstractUtilities
from openteam.models.value import AbstractHead, AbstractValueNetwork, AbstractValues, Team


class CoordinationGraph(AbstractHead):
    """Q(H, a) is learned, Qbar(H, a_i) is acted on (paper, "Joint Action Value Model" and "Action Selection")."""

    pairwise: AbstractPairwise = PerEdge()
    """Which pairs of agents have a utility, and its form: PerEdge, Factored (for large teams), Star or Signed."""
    width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the networks that turn types into utilities."""
    regulariser: float = eqx.field(static=True, default=0.0)
    """Weight of CIAO's loss that draws singular utilities to each other."""

    def __check_init__(self) -> None:
        check_positive(self, "width")
        check_not_negative(self, "regulariser")

    @property
    def graph(self) -> AbstractGraph:
        return self.pairwise.graph

    def build(self, key: Key[Array, ""], type_size: int, spec: Spec, *, predictions: bool) -> JointValueNetwork:
        if not predictions:
            raise UserError("CoordinationGraph averages over what teammates may do, so it needs an agent model.")
        joint = JointValueModel(key, type_size, spec.actions, width=self.width, pairwise=self.pairwise)
        return JointValueNetwork(joint, self.regulariser)


class JointValueNetwork(AbstractValueNetwork):
    """beta and delta."""

    joint: JointValueModel
    regulariser: float = eqx.field(static=True)

    @property
    def slots(self) -> AnySlots:
        return AnySlots()

    def __call__(self, team: Team) -> JointValues:
        assert team.probabilities is not None
        graph = self.joint.form.graph
        return JointValues(self.joint(team.types), team.probabilities, team.visible, graph, self.regulariser)

    def metrics(self, predicted: Float[Array, "*batch"], target: Float[Array, "*batch"]) -> Metrics:
        metrics = {"joint_value": predicted.mean()}
        if self.joint.form.nonnegative:
            metrics |= {"unreachable_targets": jnp.mean(target < 0)}
        return metrics


class JointValues(AbstractValues):
    """Q(H, a) as utilities, and the probabilities that teammates are marginalised out with."""

    joint: AbstractUtilities
    probabilities: Float[Array, "slots actions"]
    visible: Bool[Array, "slots"]
    graph: AbstractGraph
    regulariser: float = eqx.field(static=True)

    @property
    def utilities(self) -> AbstractUtilities:
        return self.joint

    def action_values(self) -> Float[Array, "actions"]:
        return marginalise(self.joint, self.probabilities, self.visible)

    def of(self, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        return joint_value(self.joint, actions, self.visible)

    def penalty(self, actions: Int[Array, "slots"]) -> Float[Array, ""] | None:
        if not self.regulariser:
            return None
        singular = self.joint.singular
        chosen = (singular * jax.nn.one_hot(actions, singular.shape[-1])).sum(-1)
        return self.regulariser * self.graph.regulariser(chosen, self.visible)
