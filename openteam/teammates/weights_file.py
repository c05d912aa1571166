"""Files of learned teammate types: their stacked policies, and in the header what they are and how good."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from openteam.core.random import key as make_key
from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.models.policy import NetworkPolicy, PolicyNetwork
from openteam.storage.checkpoint import load_tree, read_header, save_tree

SHIPPED = Path(__file__).parent / "weights"


def weights_path(weights: str) -> Path:
    """The shipped file of that name, or a file of the user's own."""
    own = own_file(weights)
    if own is not None:
        return own
    if not re.fullmatch(r"[\w-]+", weights):
        raise UserError(
            f"'{weights}' is no name of a shipped file; the path of a file of your own ends in .safetensors."
        )
    return SHIPPED / f"{weights}.safetensors"


def own_file(weights: str) -> Path | None:
    """The file of the user's own that is meant; None if the name is that of a shipped one."""
    return Path(weights) if weights.endswith(".safetensors") else None


@dataclasses.dataclass(frozen=True)
class Skill:
    """How good a type was when it was measured: its mean return in the learner's slot, among the pool's teammates."""

    task: str
    mean: float
    low: float
    """A mean below this means that something is wrong."""
    high: float
    """And so does one above this."""
    episodes: int


@dataclasses.dataclass(frozen=True)
class Member:
    """Where a learned type comes from and how good it is."""

    name: str
    sentence: str
    """How it behaves."""
    command: str
    """What made it."""
    seed: int
    steps: int
    """How far its training had come."""
    commit: str | None
    """The source it was made with."""
    skill: Skill


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the networks of one file have in common."""

    agent_features: int
    shared_features: int
    actions: int
    width: int

    def blank(self, key: Key[Array, ""]) -> NetworkPolicy:
        """A policy of these sizes that has learned nothing."""
        spec = Spec(self.agent_features, self.shared_features, self.actions)
        network = PolicyNetwork(key, spec, self.actions, width=self.width)
        return NetworkPolicy(network, jnp.ones(()), jnp.zeros((), bool))


@dataclasses.dataclass(frozen=True)
class Weights:
    """The content of a file."""

    sizes: Sizes
    members: tuple[Member, ...]
    stacked: NetworkPolicy

    @classmethod
    def read(cls, path: Path) -> Weights:
        """Believed only when intact."""
        if not path.exists():
            raise UserError(f"There are no learned teammates at {path}. 'openteam teammates train' makes some.")
        header = read_header(path)
        if header.get("kind") != "teammates":
            raise UserError(f"{path} holds no teammates. 'openteam teammates add' makes such files.")
        try:
            sizes = Sizes(**header["sizes"])
            members = tuple(Member(**member | {"skill": Skill(**member["skill"])}) for member in header["members"])
        except (KeyError, TypeError) as error:
            raise UserError(f"The teammates in {path} are of another version: {error}.") from None
        blank = jax.eval_shape(sizes.blank, make_key(0))  # a key made inside would be computed with, step by step
        like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((len(members), *leaf.shape), leaf.dtype), blank)
        return cls(sizes, members, load_tree(path, like))

    def write(self, path: Path) -> None:
        """Replace the file."""
        header = {
            "kind": "teammates",
            "sizes": dataclasses.asdict(self.sizes),
            "members": [dataclasses.asdict(member) for member in self.members],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tree(path, self.stacked, header)

    def place(self, name: str) -> int:
        """The number of the member of that name."""
        names = [member.name for member in self.members]
        if name not in names:
            raise UserError(f"There is no learned teammate '{name}' here. There are: {', '.join(names)}.")
        return names.index(name)

    def policy(self, place: int) -> NetworkPolicy:
        """One member's policy."""
        return jax.tree.map(lambda leaf: leaf[place], self.stacked)

    def without(self, name: str) -> Weights:
        """All but the member of that name, if there is one."""
        keep = [number for number, member in enumerate(self.members) if member.name != name]
        stacked = jax.tree.map(lambda leaf: leaf[jnp.array(keep, jnp.int32)], self.stacked)
        return Weights(self.sizes, tuple(self.members[number] for number in keep), stacked)

    def adding(self, member: Member, sizes: Sizes, policy: NetworkPolicy) -> Weights:
        """One more, in the place of any that has its name."""
        if sizes != self.sizes:
            raise UserError(
                f"The networks of one file have equal sizes: {self.sizes} in the file, {sizes} in the run. Give a file "
                "of its own with --weights."
            )
        rest = self.without(member.name)
        stacked = jax.tree.map(lambda leaf, new: jnp.concatenate([leaf, new[None]]), rest.stacked, policy)
        return Weights(self.sizes, (*rest.members, member), stacked)


def alone(member: Member, sizes: Sizes, policy: NetworkPolicy) -> Weights:
    """The first of a file."""
    return Weights(sizes, (member,), jax.tree.map(lambda leaf: leaf[None], policy))
