"""Where each setting of the paper's conditions is from: a section of the paper, or a file of released code.

Keys are dotted names of settings; a part's source holds for all that is in it and has none of its own. G is the
repository uoe-agents/GPL, ``*`` its folders Open_Experiments/{LBF,Wolfpack,FortAttack}; P is uoe-agents/PO-GPL.
"""

from __future__ import annotations

MATCHED = "matched: as many parameters as GPL's head"
CHOICE = "no source; see the algorithm's page"

GPL_FULL = {
    "control": "paper, Learning Objective",
    "control.epsilon": "G: */GPL-Q/main_mrf.py",
    "control.temperature": "G: */GPL-SPI/main_mrf.py",
    "envs": "G: */GPL-Q/main_mrf.py",
    "update_every": "G: */GPL-Q/main_mrf.py",
    "learning_rate": "G: LBF and Wolfpack run.sh, FortAttack/GPL/runner.sh",
    "discount": "G: */GPL-Q/main_mrf.py",
    "target_rate": "G: */GPL-Q/Agent.py (the paper copies now and then)",
    "max_grad_norm": "G: */GPL-Q/main_mrf.py (its argument is unused)",
    "mask_illegal": "G: */GPL-Q/Agent.py (all actions are considered)",
    "agent_model": "paper, Agent Modelling; sizes G: */GPL-Q/Agent.py",
    "agent_model_weight": "G: */run.sh, weight_predict",
    "head": "paper, Joint Action Value Model; widths G: */GPL-Q/Agent.py",
    "head.pairwise": "paper, GPL Pseudocode Under Full Observability; G: */GPL-Q/Network.py",
    "head.regulariser": "none (it is CIAO's)",
    "shared_types": "paper, GPL Overview: two networks; G: */GPL-Q/Network.py",
    "forgets_unseen": "nobody is out of sight here: it makes no difference",
    "encoder_width": "G: */GPL-Q/Agent.py",
    "hidden": "G: */GPL-Q/Agent.py",
    "type_size": "G: */GPL-Q/Agent.py",
}
AS_GPL = {
    name: f"as GPL ({source})" for name, source in GPL_FULL.items() if not name.startswith(("head", "agent_model"))
} | {"agent_model": "paper, Evaluated Algorithms; sizes as GPL", "agent_model_weight": "as GPL"}
SLOTS = "G: LBF and Wolfpack environments, option with_shuffle"
FIXED = {
    "head": "paper, Evaluated Algorithms",
    "head.width": MATCHED,
    "head.shuffle_slots": SLOTS,
    "head.max_agents": SLOTS,
}
ATTENTION = {
    "head": "paper, Evaluated Algorithms",
    "head.rounds": "DGN: Battle/multi_battle.py",
    "head.heads": "DGN: Battle/multi_battle.py",
    "head.head_size": MATCHED,
    "head.node_width": MATCHED,
    "head.width": "as GPL's utilities",
    "head.last_only": "DGN: all layers are read",
}
FLAT = AS_GPL | {
    "history_size": "as GPL's types",
    "width": MATCHED,
    "max_agents": SLOTS,
    "agent_model_weight": "unused: there is no agent model",
}
SIDES = "G: gym_fortattack/open_fortattack_marl.py (guards only, attackers stored, own features and attackers' alone)"
JOINT = {
    "envs": "as GPL",
    "discount": "as GPL",
    "mask_illegal": "as GPL",
    "sides": SIDES,
}
DGN = JOINT | {
    "epsilon": "as GPL (G: */GPL-Q/main_mrf.py)",
    "update_every": "as GPL",
    "learning_rate": "DGN: Jungle/mutli_jungle.py",
    "target_rate": "DGN: Battle/multi_battle.py",
    "replay": CHOICE,
    "relation_weight": CHOICE,
    "width": "DGN: Battle/multi_battle.py",
    "layers": "DGN: Battle/multi_battle.py",
    "heads": "DGN: Battle/multi_battle.py",
    "head_size": "DGN: Battle/multi_battle.py",
}
MADDPG = JOINT | {
    "max_agents": SLOTS,
    "update_every": "MADDPG: maddpg/trainer/maddpg.py (every 100 steps)",
    "replay": "MADDPG: maddpg/trainer/maddpg.py (batch); size and warm-up: no source",
    "learning_rate": "EPyMARL: config/algs/maddpg.yaml",
    "target_rate": "MADDPG: maddpg/trainer/maddpg.py",
    "logit_weight": "MADDPG: maddpg/trainer/maddpg.py",
    "max_grad_norm": "EPyMARL: config/algs/maddpg.yaml",
    "temperature": "MADDPG: maddpg/trainer/maddpg.py (evaluated as trained)",
    "width": "MADDPG: experiments/train.py; in FortAttack as GPL's utilities",
    "separate": "MADDPG: experiments/train.py (an actor and a critic per agent)",
}
GPL_PARTIAL = GPL_FULL | {
    "control.epsilon": "P: gpl_only_train.py, exploration_percentage",
    "envs": "P: gpl_only_train.py",
    "update_every": "P: gpl_only_train.py",
    "learning_rate": "P: run_gpl.sh",
    "discount": "P: gpl_only_train.py",
    "target_rate": "P: gpl_only_train.py",
    "max_grad_norm": "P: gpl_only_train.py (there of the sum of four steps, here of their mean)",
    "mask_illegal": "P: gpl_only_train.py (all actions are considered)",
    "agent_model": "P: RNNTypeModel.py",
    "agent_model_weight": "P: run_gpl.sh",
    "head": "P: Network.py",
    "head.pairwise": "P: Network.py",
    "shared_types": "P: run_gpl.sh, separate_types",
    "forgets_unseen": "P: RNNTypeModel.py (states times the visible flag)",
    "encoder_width": "P: RNNTypeModel.py (there with two layers more)",
    "hidden": "P: RNNTypeModel.py",
    "type_size": "P: RNNTypeModel.py (there the LSTM's output itself)",
}


def belief_sources(script: str, train: str, model: str) -> dict[str, str]:
    """Where the settings of AE-GPL, VAE-GPL or PF-GPL are from."""
    return {
        "control": f"P: {train}, exploration_percentage",
        "envs": f"P: {train}",
        "update_every": f"P: {train}",
        "discount": f"P: {train}",
        "target_rate": f"P: {train}",
        "squares": f"P: {train}",
        "learning_rate": f"P: {script}",
        "max_grad_norm": f"P: {train} (there of the sum of four steps, here of their mean)",
        "mask_illegal": f"P: {train} (all actions are considered)",
        "agent_model_weight": f"P: {script}",
        "belief": f"P: {model}; weights {script}",
        "values_shape_belief": f"P: {train}",
        "pairwise": "P: Network.py",
        "utility_width": "P: Network.py",
        "agent_model": f"P: {model}",
    }


SB3 = "stable-baselines3, defaults"
BASELINES = "paper, Partial observability results, Baselines"
PPO = {
    "network": BASELINES,
    "all_slots": "the learner alone is trained",
    "envs": CHOICE,
    "update_every": f"{BASELINES} (2048 steps; of each environment or of all, it does not say)",
    "epochs": BASELINES,
    "minibatches": f"{BASELINES} (batches of 64)",
    "learning_rate": BASELINES,
    "discount": SB3,
    "trace": SB3,
    "clip": SB3,
    "normalise_minibatches": SB3,
    "entropy": SB3,
    "value_weight": SB3,
    "max_grad_norm": SB3,
    "mask_illegal": "all actions are considered",
    "temperature": CHOICE,
    "": CHOICE,
}
DVRL = {
    "particles": BASELINES,
    "latent": BASELINES,
    "hidden": BASELINES,
    "action_size": BASELINES,
    "learning_rate": BASELINES,
    "discount": BASELINES,
    "envs": BASELINES,
    "update_every": BASELINES,
    "max_grad_norm": BASELINES,
    "": "DVRL: code/main.py, conf/default.yaml, or no source; see its page",
}
SOURCES: dict[str, dict[str, str]] = {
    "gpl-q": GPL_FULL,
    "gpl-spi": GPL_FULL,
    "ql": FLAT,
    "ql-am": AS_GPL | FIXED,
    "gnn": AS_GPL | ATTENTION,
    "gnn-am": AS_GPL | ATTENTION,
    "dgn": DGN,
    "maddpg": MADDPG,
    "ae-gpl": belief_sources("run_ae.sh", "gpl_only_state_recon_train.py", "RNNTypeModel.py"),
    "vae-gpl": belief_sources("run_vae.sh", "gpl_only_stochastic_state_recon_train.py", "RNNTypeModel.py"),
    "pf-gpl": belief_sources("run_po_10.sh", "train_state.py", "GPLBeliefModelState.py"),
    "pf-gpl-5": {"belief.particles": "paper, Algorithms (partial observability)"},
    "pf-gpl-1": {"belief.particles": "paper, Algorithms (partial observability)"},
    "ppo": PPO,
    "dvrl": DVRL,
}


def task_sources(world: str, agents: str, evaluation: str) -> dict[str, str]:
    """Where a task's settings are from."""
    return {
        "world": world,
        "world.behaviour": "our own: the released prey are networks",
        "openness": world,
        "pool": f"{agents} (networks of learned types are our own)",
        "view": world,
        "horizon": world,
        "time_limit_terminates": f"{evaluation} (1 - done)",
        "splits": evaluation,
        "splits.unseen": "paper, Unseen teammates",
    }


HUNTERS = "wolfpack_penalty_single_adhoc_assets/Agents.py"
TASK_SOURCES = {
    "lbf-released": task_sources(
        "G: LBF, foraging/environment_adhoc.py", "G: LBF, agents/heuristic_agent.py", "G: LBF/GPL-Q/main_mrf.py"
    )
    | {"splits.larger": "G: LBF, foraging/environment_adhoc.py (its other mode, which fits the published table)"},
    "wolfpack-released": task_sources(
        "G: Wolfpack, wolfpack_penalty_single_adhoc.py", f"G: {HUNTERS}", "G: Wolfpack/GPL-Q/main_mrf.py"
    ),
    "fortattack-released": task_sources(
        "G: FortAttack, core.py, fortattack_env_v2.py", "G: open_fortattack.py", "G: FortAttack/GPL/main_mrf.py"
    ),
    "lbf-partial-released": task_sources(
        "P: LBF, foraging/environment_adhoc.py", "P: LBF, agents/heuristic_agent.py", "P: gpl_only_train.py"
    ),
    "wolfpack-partial-released": task_sources(
        "P: Wolfpack, wolfpack_penalty_single_adhoc.py", f"P: {HUNTERS}", "P: gpl_only_train.py"
    ),
    "navigation-partial-released": task_sources(
        "P: navigation/environment_adhoc_part_obs.py", "P: coopnavigation, agents", "P: gpl_only_train.py"
    ),
}


def source(sources: dict[str, str], name: str) -> str:
    """The source of a setting, or of the nearest part that it belongs to."""
    while name not in sources:
        if not name:
            raise KeyError("A setting has no source.")
        name = name.rpartition(".")[0]
    return sources[name]
