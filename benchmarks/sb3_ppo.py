"""PPO of Stable-Baselines3 and MaskablePPO of sb3-contrib on openteam/lbf-v0, beside our ``ppo``.

    pip install torch stable-baselines3 sb3-contrib
    python benchmarks/sb3_ppo.py --steps 1_015_808 --out scores.jsonl
    python benchmarks/sb3_ppo.py --learners sb3-ppo --seed 1

All have the same settings and are evaluated alike: 480 episodes of the split ``train``, each from its own start, with
actions sampled. They see the same in other forms: ours puts teammates into random fixed slots, theirs gets the flat
observation, with masks of who is visible and of actions that have an effect.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import openteam
import openteam.interop.gymnasium  # registers openteam/lbf-v0
from openteam.rollout.episodes import Episodes
from openteam.threads import use_one_thread

EPISODES = 480
ENVS, ROLLOUT, MINIBATCH = 16, 2048, 64  # those of our preset; all else in it are stable-baselines3's defaults
EVALUATE_EVERY = 8 * ENVS * ROLLOUT
LEARNERS = ("sb3-ppo", "sb3-maskable-ppo", "ppo", "ppo-masked")


class CompiledEnvs(VecEnv):
    """One of Gymnasium's vector environments as Stable-Baselines3 wants it: ``dones``, and one info per environment."""

    def __init__(self, envs: gymnasium.vector.VectorEnv):
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        seed = self._seeds[0] if self._seeds else None
        self._reset_seeds()
        return self.envs.reset(seed=seed)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        obs, rewards, terminated, truncated, info = self.envs.step(self.actions)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        for number in np.flatnonzero(terminated | truncated):
            infos[number]["terminal_observation"] = info["final_obs"][number]
            infos[number]["TimeLimit.truncated"] = bool(truncated[number])
        return obs, rewards.astype(np.float32), terminated | truncated, infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        del indices
        return list(getattr(self.envs, method_name)(*args, **kwargs))

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        del indices
        return [getattr(self.envs, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        del indices
        setattr(self.envs, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        del wrapper_class, indices
        return [False] * self.num_envs

    def close(self) -> None:
        self.envs.close()


def train_theirs(name: str, steps: int, seed: int) -> Iterator[tuple[int, Episodes, float]]:
    """What stable-baselines3 has learned at each evaluation, and its steps per second so far."""
    cls = MaskablePPO if name == "sb3-maskable-ppo" else PPO
    envs = CompiledEnvs(gymnasium.make_vec("openteam/lbf-v0", num_envs=ENVS, flat=True))
    sizes = {"net_arch": [128, 128]}
    model = cls("MlpPolicy", envs, n_steps=ROLLOUT, batch_size=MINIBATCH, policy_kwargs=sizes, seed=seed, device="cpu")
    seconds = 0.0
    while model.num_timesteps < steps:
        start = time.perf_counter()
        model.learn(min(EVALUATE_EVERY, steps - model.num_timesteps), reset_num_timesteps=False)
        seconds += time.perf_counter() - start
        yield model.num_timesteps, play(model, seed), model.num_timesteps / seconds


def play(model: PPO | MaskablePPO, seed: int) -> Episodes:
    """The first episode of each of many environments."""
    envs = gymnasium.make_vec("openteam/lbf-v0", num_envs=EPISODES, flat=True)
    obs, _ = envs.reset(seed=10_000 * (seed + 1))
    returns, lengths, going = np.zeros(EPISODES), np.zeros(EPISODES, int), np.ones(EPISODES, bool)
    while going.any():
        masks = {"action_masks": envs.unwrapped.action_masks()} if isinstance(model, MaskablePPO) else {}
        actions, _ = model.predict(obs, deterministic=False, **masks)
        obs, rewards, terminated, truncated, _ = envs.step(actions)
        returns, lengths = returns + rewards * going, lengths + going
        going &= ~(terminated | truncated)
    return Episodes(returns, lengths)


def train_ours(name: str, steps: int, seed: int) -> Iterator[tuple[int, Episodes, float]]:
    """The same of our PPO. Its time includes compiling and evaluating."""
    task = openteam.make("lbf")
    learner = dataclasses.replace(openteam.make_algorithm("ppo", task), mask_illegal=name == "ppo-masked")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = openteam.train(
            task, learner, steps=steps, seed=seed, out=Path(folder) / "run", checkpoint_every=EVALUATE_EVERY,
            evaluation_episodes=EPISODES, progress=False,
        )  # fmt: skip
        speed = steps / (time.perf_counter() - start)
        rows = [row for row in run.folder.rows("episodes.jsonl") if row["split"] == "train"]
    for step in sorted({row["step"] for row in rows}):
        mine = [row for row in rows if row["step"] == step]
        played = Episodes(np.array([row["return"] for row in mine]), np.array([row["length"] for row in mine]))
        yield step, played, speed


def main() -> None:
    """Train, evaluate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=31 * ENVS * ROLLOUT, help="in all environments together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    parser.add_argument("--out", type=Path, help="append a line of JSON per evaluation")
    told = parser.parse_args()
    torch.set_num_threads(1)
    use_one_thread()
    for name in told.learners:
        train = train_theirs if name.startswith("sb3") else train_ours
        for step, played, speed in train(name, told.steps, told.seed):
            print(f"{name:17} {step:>9,} steps  return {played}  {speed:,.0f} steps/s", flush=True)
            row = {
                "learner": name, "step": step, "seed": told.seed, "return": played.mean,
                "interval": played.interval, "episodes": len(played.returns), "steps_per_second": speed,
            }  # fmt: skip
            if told.out is not None:
                with told.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
