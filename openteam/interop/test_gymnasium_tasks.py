"""Every task passes Gymnasium's own check, and every split has an id."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from openteam.catalogue import catalogue
from openteam.interop.gymnasium import env_id

TASKS = catalogue().tasks
UNBOUNDED = {"fortattack-released", "fortattack-authors", "evasion"}  # angles grow; nothing is declared


@pytest.mark.usefixtures("authors_imported")
@pytest.mark.parametrize("name", TASKS)
def test_a_task_passes_gymnasiums_own_check(name):
    env = gymnasium.make(env_id(name), disable_env_checker=True).unwrapped
    with warnings.catch_warnings():
        if name in UNBOUNDED:
            warnings.filterwarnings("ignore", message=".*A Box observation space m(in|ax)imum value is -?infinity")
        check_env(env)
    assert env.metadata["render_modes"] == (["rgb_array", "ansi"] if TASKS[name].drawable else [])
    bounds = [
        bound for part in ("agents", "shared") for bound in (env.spaces.parts[part].low, env.spaces.parts[part].high)
    ]
    assert all(np.isfinite(bound).all() for bound in bounds) == (name not in UNBOUNDED)


def test_all_splits_of_a_task_have_the_same_spaces():
    ids = ("openteam/lbf-v0", "openteam/lbf-larger-v0", "openteam/lbf-five-v0")
    spaces = [gymnasium.make(name).observation_space for name in ids]
    assert spaces[0] == spaces[1] == spaces[2]
    assert gymnasium.make("openteam/lbf-v0", max_agents=3).observation_space["visible"].n == 3


def test_every_split_of_every_task_has_an_id_of_its_own():
    ids = {env_id(name, split): (name, split) for name, entry in TASKS.items() for split in entry.splits}
    assert len(ids) == sum(len(entry.splits) for entry in TASKS.values())
    for name, (task, split) in ids.items():
        assert gymnasium.spec(name).kwargs == {"task": task, "split": split}


def test_jax_is_not_imported_before_an_environment_is_made():
    code = (
        "import sys, openteam.interop.gymnasium as ours; ours.register_tasks(); assert 'jax' not in sys.modules, 'jax'"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
