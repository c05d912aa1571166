"""What families of scripts have in common: named types, a sentence for each, a clear refusal of any other name."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from openteam.errors import UserError
from openteam.teammates.pool import AbstractFamily


class AbstractScripts(AbstractFamily):
    """Some of a world's scripted types, which are one program with different numbers."""

    kind: ClassVar[str]
    types: ClassVar[dict[str, tuple[Any, ...]]]  # the numbers of every type
    sayings: ClassVar[dict[str, str]]  # how it behaves
    names: eqx.AbstractVar[tuple[str, ...]]

    def __check_init__(self) -> None:
        unknown = [name for name in self.names if name not in self.types]
        if unknown or not self.names:
            known = ", ".join(self.types)
            raise UserError(f"Scripted {self.kind} are {known}; got {', '.join(self.names) or 'none'}.")

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(self.sayings[name] for name in self.names)

    def numbers(self, index: Int[Array, ""]) -> list[Array]:
        """Those of one type, whose place among the names may be known only at run time."""
        columns = zip(*(self.types[name] for name in self.names), strict=True)
        return [jnp.array(column)[index] for column in columns]
