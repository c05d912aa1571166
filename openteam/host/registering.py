"""An environment that was named where a task is expected."""

from __future__ import annotations

import contextlib
from typing import Any

from openteam.errors import UserError
from openteam.host.interface import check_interface
from openteam.host.task import HostTask


def from_environment(name: str, env: Any, learner: str | None) -> HostTask:
    """The task around what ``module:function`` made, called as its module is."""
    if not (hasattr(env, "reset") and hasattr(env, "step")):
        raise UserError(
            f"{name} is no task: expected a Task, a HostTask or an environment with reset and step, got a "
            f"{type(env).__name__}."
        )
    check_interface(env, name)
    ids = getattr(env, "possible_agents", None) or getattr(env, "agents", None) or ["agent_0"]
    with contextlib.suppress(Exception, SystemExit):
        env.close()
    if learner is None:
        raise UserError(
            f"{name} makes an environment, which does not say who learns: add --learner {ids[0]} (agents: "
            f"{', '.join(map(str, ids))}). Where there is no such flag, name a function that returns "
            f"openteam.HostTask(env='{name}', learner='{ids[0]}')."
        )
    return HostTask(name, learner, name=name.partition(":")[0].rpartition(".")[2])
