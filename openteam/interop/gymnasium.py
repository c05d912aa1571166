"""Every task and split as a Gymnasium environment; to import this module is to register them.

``openteam/lbf-v0`` is the task's own condition, in which training happens, and ``openteam/lbf-larger-v0`` its split
``larger``. Gymnasium 1.0 and newer finds no plug-ins by itself, so somebody has to import this. Nothing of JAX is
imported before an environment is made.
"""

from __future__ import annotations

from openteam.catalogue import catalogue
from openteam.errors import UserError

try:
    from gymnasium.envs.registration import register, registry
except ImportError:
    raise UserError("openteam.interop.gymnasium needs Gymnasium: pip install 'openteam[gymnasium]'.") from None


def env_id(task: str, split: str = "train") -> str:
    """The name of a task's split in Gymnasium's registry."""
    return f"openteam/{task}-v0" if split == "train" else f"openteam/{task}-{split}-v0"


def register_tasks() -> None:
    """Register whatever is not registered yet."""
    for task, entry in catalogue().tasks.items():
        for split in entry.splits:
            if (name := env_id(task, split)) not in registry:
                register(
                    id=name,
                    entry_point="openteam.interop.gymnasium_env:LearnerEnv",
                    vector_entry_point="openteam.interop.gymnasium_vector:LearnerVectorEnv",
                    kwargs={"task": task, "split": split},
                )


register_tasks()
