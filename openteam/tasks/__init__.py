"""The named tasks. ``<task>`` follows the paper's text, ``<task>-released`` its released code.

``<task>-authors`` is the latter with the agents that the authors published, which must have been imported.
"""

from __future__ import annotations

from collections.abc import Callable

from openteam.probes import PROBES, remember_teammate
from openteam.task import Task
from openteam.tasks.authors import (
    fortattack_authors,
    lbf_authors,
    lbf_partial_authors,
    navigation_partial_authors,
    wolfpack_authors,
    wolfpack_partial_authors,
)
from openteam.tasks.foraging import lbf, lbf_partial, lbf_partial_released, lbf_released
from openteam.tasks.fortattack import fortattack, fortattack_duel, fortattack_duel_released, fortattack_released
from openteam.tasks.navigation import navigation_partial, navigation_partial_released, navigation_practice
from openteam.tasks.wolfpack import (
    evasion,
    wolfpack,
    wolfpack_evaders,
    wolfpack_partial,
    wolfpack_partial_released,
    wolfpack_practice,
    wolfpack_released,
)

TASKS: dict[str, Callable[[], Task]] = {
    "lbf": lbf,
    "lbf-released": lbf_released,
    "wolfpack": wolfpack,
    "wolfpack-released": wolfpack_released,
    "wolfpack-evaders": wolfpack_evaders,
    "fortattack": fortattack,
    "fortattack-released": fortattack_released,
    "lbf-authors": lbf_authors,
    "wolfpack-authors": wolfpack_authors,
    "fortattack-authors": fortattack_authors,
    "lbf-partial": lbf_partial,
    "lbf-partial-released": lbf_partial_released,
    "wolfpack-partial": wolfpack_partial,
    "wolfpack-partial-released": wolfpack_partial_released,
    "navigation-partial": navigation_partial,
    "navigation-partial-released": navigation_partial_released,
    "lbf-partial-authors": lbf_partial_authors,
    "wolfpack-partial-authors": wolfpack_partial_authors,
    "navigation-partial-authors": navigation_partial_authors,
    "evasion": evasion,
    "fortattack-duel": fortattack_duel,
    "fortattack-duel-released": fortattack_duel_released,
    "navigation-practice": navigation_practice,
    "wolfpack-practice": wolfpack_practice,
    **{f"probe-{name.replace('_', '-')}": build for name, build in PROBES.items()},
    "probe-remember-teammate": remember_teammate,
}

__all__ = ["TASKS", "lbf", "lbf_released"]
