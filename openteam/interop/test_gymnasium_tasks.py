"""Every task passes Gymnasium's own check, and every split has an id."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from openteam.catalogue import catalogue
from openteam.interop.gymnasium import env_id, register_tasks

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
    for box in (env.observation_space["agents"], env.observation_space["shared"]):
        assert np.isfinite([box.low, box.high]).all() == (name not in UNBOUNDED) or box.shape == (0,)
