"""Python as a user has it: without the checks of types that tests run with, on the world of docs/your-own-world.md.

One process does everything once and tells what came of each attempt; the tests read that.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.pages import ROOT, files

DUO = """
def duo():  # compiles quickly
    return openteam.Task(Meeting(), openteam.Closed(2), openteam.Pool((Wanderers(),)), horizon=4, name="meeting")
"""
SCRIPT = r"""
import json, os, sys
from pathlib import Path
import jax
import my_worlds
import openteam as ot
from openteam.commands.record import Record

home, outcome = Path.cwd(), {}

def attempt(name, function):
    try:
        outcome[name] = repr(function())
    except ot.UserError as error:
        outcome[name] = f"UserError: {error}"
    except Exception as error:
        outcome[name] = f"{type(error).__name__}: {error}"

class Local(my_worlds.Meeting):
    pass

small = ot.PPO(ot.SetNetworks(width=2), envs=2, update_every=4, epochs=1, minibatches=1)
brief = dict(steps=1.6e1, checkpoint_every=8, evaluation_episodes=2)
meeting = my_worlds.duo()
anybody = ot.Pool((ot.Uniform(),))

def move_away(progress):
    (home / "elsewhere").mkdir(exist_ok=True)
    os.chdir(home / "elsewhere")

run = ot.train("my_worlds:duo", small, **brief, report=move_away)   # into a relative folder
outcome["run"] = repr(run)
outcome["files"] = sorted(str(path.relative_to(home)) for path in home.glob("**/config.json"))
os.chdir(home)
attempt("evaluate run", lambda: ot.evaluate(run, episodes=2))
attempt("evaluate path and split", lambda: ot.evaluate("runs/meeting-ppo", "train", episodes=2))
attempt("evaluate checkpoint", lambda: ot.evaluate(run.folder.checkpoints[-1], episodes=2))
attempt("evaluate policy", lambda: ot.evaluate(run.policy, meeting, episodes=2))
attempt("evaluate policy on a name", lambda: ot.evaluate(ot.load(run), "my_worlds:duo", "train", episodes=2))
attempt("record run", lambda: ot.record(run, out="api.gif"))
attempt("record command", lambda: Record(task="runs/meeting-ppo", out=Path("command.png"), imports=("my_worlds",))())
outcome["drawn"] = sorted(path.name for path in home.glob("*.*") if path.suffix in (".gif", ".png"))
attempt("a run as a teammate", lambda: [ot.Trained(which).runs for which in (run, str(run.path), [run.path])])

attempt("no such split", lambda: ot.evaluate(run, "larger"))
attempt("no such run", lambda: ot.evaluate("nowhere", "train"))
attempt("a policy alone", lambda: ot.evaluate(run.policy))
attempt("another order", lambda: ot.evaluate(meeting, run.policy))
attempt("train, another order", lambda: ot.train(small, meeting))
attempt("run on another task", lambda: ot.evaluate(run, "probe-match"))
attempt("policy on another task", lambda: ot.record(run.policy, "probe-match"))
attempt("a teammate in another world", lambda: ot.Task(ot.Foraging(), ot.Closed(2), ot.Pool((ot.Trained(run),))))
attempt("inside jit", lambda: jax.jit(lambda: ot.evaluate(run.policy, meeting, episodes=2).returns)())
many = jax.tree.map(lambda leaf: jax.numpy.stack([leaf, leaf]), run.policy)
attempt("inside vmap", lambda: jax.vmap(lambda policy: ot.evaluate(policy, meeting, episodes=2).returns)(many))
attempt("half an episode", lambda: ot.evaluate(run, episodes=2.5))
attempt("another ending", lambda: ot.record(run, out="film.avi"))

def refused(name, task=meeting, learner=small, **settings):
    attempt(name, lambda: ot.train(task, learner, out="refused", **(brief | settings)))

refused("a class of the script", ot.Task(Local(), ot.Closed(2), anybody))
refused("large seed", seed=2**63)
refused("seed in words", seed="one")
refused("endless", steps=float("inf"))
refused("no learner", learner=3)
refused("no such algorithm", learner="gpl")
attempt("pairwise", lambda: ot.CoordinationGraph(pairwise="edges"))
attempt("half an environment", lambda: ot.GPL(envs=2.5))
attempt("head", lambda: ot.GPL(head="ring"))
attempt("world", lambda: ot.Task(3, ot.Closed(2), anybody))
attempt("family", lambda: ot.Pool(ot.Uniform()))
attempt("grid", lambda: ot.Foraging(size=-1))
attempt("own grid", lambda: my_worlds.Meeting(length=2.5))
attempt("squares", lambda: ot.BeliefGPL(squares="all"))
attempt("weight", lambda: ot.DVRL(entropy=-1.0))
jax.config.update("jax_enable_x64", True)
refused("64 bits")
outcome["left behind"] = (home / "refused").exists()
print(json.dumps(outcome))
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    home = tmp_path_factory.mktemp("user")
    (home / "my_worlds.py").write_text(files("docs/your-own-world.md")["my_worlds.py"] + DUO)
    (home / "script.py").write_text(SCRIPT)
    env = os.environ | {"PYTHONPATH": str(ROOT), "OPENTEAM_COMPILE_CACHE": "off"}
    ran = subprocess.run([sys.executable, "script.py"], cwd=home, env=env, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1]) | {"stderr": ran.stderr}


def test_a_run_without_out_gets_a_folder_that_stays_where_it_began(user):
    assert user["files"] == ["runs/meeting-ppo/config.json"]


def test_a_run_prints_what_it_is_and_how_good(user):
    number = r"-?\d+\.\d{3} ± (\d+\.\d{3}|nan)"
    assert re.fullmatch(
        rf"Run\(.*/runs/meeting-ppo: PPO on 'meeting', seed 0, step 16; return train {number} \(2 episodes\)\)",
        user["run"],
    )


def test_without_a_terminal_progress_is_a_line_per_checkpoint(user):
    assert [int(step) for step in re.findall(r"seed 0: meeting  step (\d+) of 16", user["stderr"])] == [0, 8, 16]


def test_runs_paths_and_policies_play_the_same_episodes(user):
    ways = ("run", "path and split", "checkpoint", "policy", "policy on a name")
    results = {user[f"evaluate {way}"] for way in ways}
    assert len(results) == 1
    pattern = r"Episodes\(meeting train: return -?\d+\.\d{3} ± \d+\.\d{3}, 95 % interval over 2 episodes\)"
    assert re.fullmatch(pattern, results.pop())


def test_a_run_of_ones_own_world_is_drawn_without_naming_the_task(user):
    assert user["record run"].startswith("Recording(4 steps, return ")
    assert user["record command"] == "None"
    assert user["drawn"] == ["api.gif", "command.png"]


def test_one_run_is_one_teammate_however_it_is_given(user):
    first, second, third = re.findall(r"\(([^()]*),\)", user["a run as a teammate"])
    assert first == second == third
    assert "meeting-ppo" in first


SENTENCES = {
    "no such split": "Task 'meeting' has no split 'larger'. It has: train.",
    "no such run": "There is no run or checkpoint at nowhere.",
    "a policy alone": "A policy does not know its task: say evaluate(policy, 'lbf') or evaluate(policy, task).",
    "another order": "evaluate takes a policy, a run or a path first; got a Task.",
    "train, another order": "The task comes first, then the learner.",
    "run on another task": "was trained on 'meeting' and cannot act in 'probe-match': it expects agent_features 1",
    "policy on another task": "This NetworkPolicy cannot act in 'probe-match', with 3 features of an agent",
    "a teammate in another world": "Trained (meeting-ppo) cannot act in a world with 3 features of an agent, 9 shared",
    "inside jit": "Episodes are played and returned as plain numbers, which do not exist inside jit",
    "inside vmap": "Episodes are played and returned as plain numbers, which do not exist inside jit",
    "half an episode": "episodes must be a whole number; got 2.5.",
    "another ending": "A recording is written as .gif, .mp4, .png; got 'film.avi'.",
    "a class of the script": "The class Local is defined in the script that is being run",
    "large seed": "seed must be at most 4,294,967,295; got 9.22e+18.",
    "seed in words": "seed must be a whole number; got 'one'.",
    "endless": "steps must be a whole number; got inf.",
    "no learner": "A learner is a value such as GPL() or a name such as 'gpl-q'; got 3.",
    "no such algorithm": "There is no algorithm 'gpl'. Did you mean 'gpl-q'?",
    "pairwise": "CoordinationGraph's pairwise must be Factored, PerEdge, Star, Signed or another ",
    "half an environment": "GPL's envs must be a whole number; got 2.5.",
    "head": "GPL's head must be CoordinationGraph or another AbstractHead; got 'ring'.",
    "world": "Task's world must be ",
    "family": "got Uniform(). For a single one write (Uniform(),).",
    "grid": "Level-Based Foraging needs size >= 3, foods >= 1 and max_level >= 1; got size -1",
    "own grid": "Meeting's length must be a whole number; got 2.5.",
    "squares": "BeliefGPL's squares must be 'each' or 'mean'; got 'all'.",
    "weight": "DVRL's entropy must not be negative; got -1.0.",
    "64 bits": "openteam computes with 32 bits, and jax_enable_x64 is on.",
}


@pytest.mark.parametrize("mistake", SENTENCES)
def test_a_mistake_gets_a_sentence(user, mistake):
    assert user[mistake].startswith("UserError: ")
    assert SENTENCES[mistake] in user[mistake]


def test_a_run_that_is_refused_leaves_nothing_behind(user):
    assert user["left behind"] is False
