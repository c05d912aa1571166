"""What families of scripted types share: names, parameters, a description of each type, and checks."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.teammates.pool import AbstractFamily


class AbstractScripts(AbstractFamily):
    """Some of a world's scripted types: one program with different parameters."""

    kind: ClassVar[str]  # what its members are called in messages
    parameters: ClassVar[dict[str, tuple[Any, ...]]]  # of every type, by name
    descriptions: ClassVar[dict[str, str]]  # how every type behaves, in a sentence
    names: eqx.AbstractVar[tuple[str, ...]]

    def __check_init__(self) -> None:
        unknown = [name for name in self.names if name not in self.parameters]
        if unknown or not self.names:
            known = ", ".join(self.parameters)
            raise UserError(f"Scripted {self.kind} are {known}; got {', '.join(self.names) or 'none'}.")

    @abstractmethod
    def reads(self, spec: Spec) -> bool:
        """Whether observations with these sizes can be those of the family's world."""

    def check(self, spec: Spec) -> None:
        if not self.reads(spec):
            raise UserError(
                f"Scripted {self.kind} cannot act in a world with {spec.agent_features} features of an agent, "
                f"{spec.shared_features} shared ones and {spec.actions} actions: they were written for another world. "
                "Choose this world's own teammates, or Uniform."
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(self.descriptions[name] for name in self.names)

    def select(self, index: Int[Array, ""]) -> list[Array]:
        """The parameters of the type with this number among the names, which may be known only at run time."""
        columns = zip(*(self.parameters[name] for name in self.names), strict=True)
        return [jnp.array(column)[index] for column in columns]
