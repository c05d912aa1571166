"""The published files: where they are in the authors' two repositories, and which arrays they hold.

G is github.com/uoe-agents/GPL, P is github.com/uoe-agents/PO-GPL. Files that are in both are the same. Neither has a
licence, so none of them is part of openteam.
"""

from __future__ import annotations

import dataclasses

Shapes = dict[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class PublishedFile:
    """One file: the agent it holds, its path below the group's folder, and its fingerprint."""

    member: str
    path: str
    sha256: str
    network: str
    """Which of ``NETWORKS``."""
    parts: tuple[str, ...] = ("network",)
    """The networks it holds."""


@dataclasses.dataclass(frozen=True)
class Group:
    """The agents of one world."""

    folders: tuple[str, ...]
    """Below which folder of a repository they are: in G, in P."""
    files: tuple[PublishedFile, ...]

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(file.member for file in self.files)


def linear(name: str, outputs: int, inputs: int) -> Shapes:
    """A linear layer."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def lstm(name: str, inputs: int, width: int) -> Shapes:
    """A long short-term memory."""
    return {
        f"{name}.weight_ih_l0": (4 * width, inputs),
        f"{name}.weight_hh_l0": (4 * width, width),
        f"{name}.bias_ih_l0": (4 * width,),
        f"{name}.bias_hh_l0": (4 * width,),
    }


def norm(name: str, channels: int) -> Shapes:
    """Batch normalisation."""
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")} | {
        f"{name}.num_batches_tracked": ()
    }


def block(name: str, sizes: tuple[int, int, int], hidden: int, out: int) -> Shapes:
    """A graph block: networks of edges, nodes and the whole, with inputs of these sizes."""
    return {
        array: shape
        for part, size in zip(("edge", "node", "u"), sizes, strict=True)
        for array, shape in (
            linear(f"{name}.fc_{part}", hidden, size) | linear(f"{name}.fc_{part}2", out, hidden)
        ).items()
    }


def attention(name: str, width: int) -> Shapes:
    """One head of attention."""
    return {f"{name}.W_{part}": (1, width, width) for part in ("query", "key", "val", "out")}


def actor_critic(inputs: int) -> Shapes:
    """A policy with two hidden layers."""
    return linear("layers.0", 96, inputs) | linear("layers.2", 64, 96) | linear("layers.4", 6, 64)


NETWORKS: dict[str, Shapes] = {
    "prey": {"conv1.weight": (16, 3, 4, 4), "conv1.bias": (16,), "conv2.weight": (32, 16, 2, 2), "conv2.bias": (32,)}
    | norm("bn1", 16)
    | norm("bn2", 32)
    | lstm("lstm", 640, 32)
    | linear("head", 7, 32),
    "distilled": block("GNBlock", (24, 68, 112), 60, 50)
    | block("GNBlock2", (200, 130, 110), 40, 30)
    | linear("head", 35, 30)
    | linear("head2", 5, 35),
    "graph-dqn": block("GNBlock", (16, 49, 82), 60, 35)
    | lstm("GraphLSTM.lstm_edge", 140, 50)
    | lstm("GraphLSTM.lstm_node", 120, 50)
    | lstm("GraphLSTM.lstm_u", 135, 50)
    | block("GNBlock2", (200, 130, 110), 40, 30)
    | linear("pre_q_net", 40, 30)
    | linear("q_net", 5, 40),
    "mpnn": linear("encoder.0", 64, 6)
    | linear("oppEncoder.0", 64, 6)
    | attention("oppAttn", 64)
    | linear("oppUpdate.0", 64, 128)
    | attention("messages", 128)
    | linear("update.0", 128, 256)
    | linear("value_head.0", 128, 128)
    | linear("value_head.2", 1, 128)
    | linear("policy_head.0", 128, 128)
    | linear("dist.linear", 8, 128),
    "foraging": actor_critic(24),
    "navigation": actor_critic(14),
}
UNUSED = ("num_batches_tracked", "oppUpdate", "value_head")
"""Arrays that have no part in acting: they are checked, and not kept."""


def used(network: str) -> Shapes:
    """The arrays of a network that are kept."""
    return {name: shape for name, shape in NETWORKS[network].items() if not any(part in name for part in UNUSED)}


SIDES = ("guards", "attackers")
FORT_FOLDERS = {"ep0": "saved_parameters_new", "ep5050": "tmp_2"}  # the others are in tmp_1

FORT = {
    "ep0": "f165f92747cb53361bd6c3808d74026812d2475b76210b1befefa97e2eca1f74",
    "ep220": "eca711be63bac2af80ac105c35416544c43e36054d0dc82237a65fa18914f61e",
    "ep650": "20144516d0368078beeae7e963e507911876855b567fc946e0435fdcf028d7e6",
    "ep1240": "70d60f8a8307e14466febd37a35fdc38fa8b5ad9646063861f327a5af6e1e512",
    "ep1600": "fc7959722e3b51d1e547773eacba33064613c5e1e78852790a8d4ca70b4a43d3",
    "ep2520": "a9d9515f53e223613fb48dc990e20686619fc79c9d0388a287386f21109b6f63",
    "ep5050": "deee7c620b81606b6e997cf975cd3825a848537f32b8446a1e2932a809d6b5ae",
}
FORAGING = (
    "d6b53cf05ec333a2a0dc251b5504317288c1aa9a9abbc505a8ed9bd0cdd3fb3b",
    "4425e2d042828952a6b5793cb4fdd02fa5d1b1c43f1df42b5b6be80e69f6b47e",
    "f554d5b49580f20ba3f053cbcc61a5b16622f890ad8d108a2ade15cee364e35b",
    "f17e2aca39d90a9689d42ee55ad8fc94bd1bdc6947fbd2afb177c276fdcf0229",
    "6440e2f03268e7361cf9f8cb97ec257bcee541b3fcc60f9633496b673d6a866a",
    "9945c5783e306cda78950f30c574f8028a016b6cc3ac961ae13eebba8b18dfe1",
    "f8122f97c93501942db8c329185299c96972b1745b5a37db8b800553242fbfe8",
    "03ac316956586e9a481dbcf9da2a10b2053783d9676c6f3c64c9bb05c5f5f544",
    "97d884288b9efd3474a8091b2e9d9ff7ef3d1e00ccd06bc129d4843317e19218",
    "32b82d323012ffbfc2d7f0cc42969a471ca99637cbbce7df37b487182fc723da",
)
NAVIGATION = (
    "a1aa5fae1ac9a5d8d4205f1a2a4153f64d8adbf10c84c88a71e67d07730cf273",
    "76dc0bc2c3fe66b3a5e002e8ced15ad5b6c5917627d76960fcd62f37b0eccd94",
    "d67a0fcc471ca64ed4e466d241028ddfd0db634dff2f5eb4da10284dd442780d",
    "eab81a68a080a7ceac719f695d59e0ca163b2ae6a03514d8fb1ebe1d07f0f9a5",
    "2103e7e470b7f787e82f5d4f19b014322eacf5cecd33c06d2c8c372fa1a525e2",
    "f1e52b1fef892635e4f01a2749d0332588f49fee4e40270712c8c2319268794a",
    "26bbcdae049d190de93bca9f06daa38b262971ab743d983ed1cb1411be9f59fe",
    "d765e35431e9c7eabc231c25187c84b2e8b04fd923f9bcbb8a53646e731aaf39",
    "ab32380be7d34e5336c60f66e32865bbdac8f3eca2b518534d1be3c6a5280005",
    "d29e34878a7011a4d99dd483194c8075b7dd2067967fcde1a869d2313629fc58",
)

GROUPS: dict[str, Group] = {
    "wolfpack": Group(
        ("Open_Experiments/Wolfpack/env/Wolfpack_gym/envs", "envs/Wolfpack/Wolfpack_gym/envs"),
        (
            PublishedFile(
                "prey-0",
                "wolfpack_assets/dqn_prey_parameters/exp0.0001param_10_agent_0",
                "d9f297714dde64bd2623d9d9c2e9988d68bb0a8870a0a95bcc5118115c75d310",
                "prey",
            ),
            PublishedFile(
                "prey-1",
                "wolfpack_assets/dqn_prey_parameters/exp0.0001param_10_agent_1",
                "f56c6f7429fe99a0b39c6c2e13e1dd57e61c5a327a076e8559a557f8fecb747b",
                "prey",
            ),
            PublishedFile(  # there is another params_40 in folders without "penalty", of an older world
                "graph-dqn",
                "wolfpack_penalty_single_adhoc_assets/dqn_gnn_params/params_40",
                "e49ae526b6ee283c5a3f01f02abd7e0f9af8b7fcdf17ba50421fc641bd00d923",
                "graph-dqn",
            ),
            PublishedFile(
                "distilled",
                "wolfpack_penalty_single_adhoc_assets/dist_astar_params/DistilledNet1.pkl",
                "539f0fb08e8c9f3430fecf2917c477ca366c343ce2aba2f169d3b73233b161a1",
                "distilled",
            ),
        ),
    ),
    "fortattack": Group(
        ("Open_Experiments/FortAttack/Env/marlsave", "envs/FortAttack/FortAttack_gym/envs/marlsave"),
        tuple(
            PublishedFile(name, f"{FORT_FOLDERS.get(name, 'tmp_1')}/{name}.pt", sha256, "mpnn", SIDES)
            for name, sha256 in FORT.items()
        ),
    ),
    "lbf": Group(
        ("Open_Experiments/LBF/env/lbforaging/agents/A2CAssets", "envs/LBF/lbforaging/agents/A2CAssets"),
        tuple(
            PublishedFile(f"a2c-{number}", f"agent_policy_{number}_40", sha256, "foraging")
            for number, sha256 in enumerate(FORAGING)
        ),
    ),
    "navigation": Group(
        ("envs/CooperativeNavigation/coopnavigation/agents/A2CAssets",),
        tuple(
            PublishedFile(f"a2c-{number}", f"agent_policy_{number}_9", sha256, "navigation")
            for number, sha256 in enumerate(NAVIGATION)
        ),
    ),
}
