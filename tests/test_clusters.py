"""Plans on clusters of this machine, with things killed in the middle. Ray (80 MB) and submitit are no part of the test
extra: whoever works on these engines installs them, and pays about a minute of CPU time for each."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "kill_cluster.py"


def killed(how: str, folder: Path, env: dict[str, str], *numbers: str) -> str:
    words = [sys.executable, str(SCRIPT), how, str(folder), *numbers]
    process = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=1200)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'openteam[ray]'")
def test_a_plan_on_ray_survives_a_dead_node_and_a_dead_driver(tmp_path, users_env):
    said = killed("ray", tmp_path, users_env, "4", "96000")
    assert "node killed with" in said
    assert "driver killed with" in said
    assert "4 runs finished" in said
    assert "run to their end twice: none; the same" in said


@pytest.mark.skipif(
    importlib.util.find_spec("submitit") is None, reason="submitit is not installed: pip install 'openteam[slurm]'"
)
def test_a_plan_on_slurm_is_queued_again_at_the_time_limit(tmp_path, users_env):
    said = killed("slurm", tmp_path, users_env, "3", "96000", "0")
    assert not said.startswith("slurm: 0 times")
    assert "3 runs finished" in said
    assert "run to their end twice: none; the same" in said
