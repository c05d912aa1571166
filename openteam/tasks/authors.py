"""The released tasks with the agents that the authors published, which a user has imported."""

from __future__ import annotations

import dataclasses

from openteam.prey.authors import PublishedPrey
from openteam.task import Split, Task
from openteam.tasks.foraging import lbf_partial_released, lbf_released
from openteam.tasks.fortattack import fortattack_released
from openteam.tasks.navigation import navigation_partial_released
from openteam.tasks.wolfpack import wolfpack_partial_released, wolfpack_released
from openteam.teammates import Navigators, Pool
from openteam.teammates.authors.actor_critic import PublishedForagers, PublishedNavigators
from openteam.teammates.authors.fort import PublishedFort
from openteam.teammates.authors.hunters import PublishedDistilled, PublishedGraphDQN
from openteam.teammates.pool import AbstractFamily
from openteam.teammates.scripted import AbstractScripts

FORAGING_UNSEEN = tuple(f"a2c-{number}" for number in range(1, 9))
NAVIGATION_UNSEEN = tuple(f"a2c-{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9))


def lbf_authors() -> Task:
    """lbf-released with the authors' learned type."""
    return with_pool(lbf_released(), "lbf-authors", PublishedForagers())


def lbf_partial_authors() -> Task:
    """lbf-partial-released with the authors' learned types; eight that they stored and never drew are unseen."""
    task = with_pool(lbf_partial_released(), "lbf-partial-authors", PublishedForagers())
    return with_unseen(task, PublishedForagers(("a2c-0", *FORAGING_UNSEEN)))


def wolfpack_authors() -> Task:
    """wolfpack-released with the authors' prey and their two learned hunters."""
    return with_prey(with_pool(wolfpack_released(), "wolfpack-authors", *hunters()))


def wolfpack_partial_authors() -> Task:
    """wolfpack-partial-released with the authors' prey and their two learned hunters."""
    return with_prey(with_pool(wolfpack_partial_released(), "wolfpack-partial-authors", *hunters()))


def fortattack_authors() -> Task:
    """fortattack-released with the authors' seven checkpoints: one for all guards, one for all attackers."""
    return with_pool(fortattack_released(), "fortattack-authors", PublishedFort())


def navigation_partial_authors() -> Task:
    """navigation-partial-released with the authors' learned types; eight that they stored and never drew are unseen."""
    task = with_pool(navigation_partial_released(), "navigation-partial-authors", PublishedNavigators())
    return with_unseen(task, PublishedNavigators(("a2c-0", "a2c-5", *NAVIGATION_UNSEEN)))


def hunters() -> tuple[AbstractFamily, ...]:
    """The two learned hunters: with the seven scripted ones, nine types."""
    return PublishedGraphDQN(), PublishedDistilled()


def with_pool(task: Task, name: str, *learned: AbstractFamily) -> Task:
    """The task with other learned types in the place of ours, and without splits that have other teammates."""
    return dataclasses.replace(
        task,
        name=name,
        pool=replaced(task.pool, *learned),
        splits={name: split for name, split in task.splits.items() if split.pool is None},
    )


def with_unseen(task: Task, learned: AbstractFamily) -> Task:
    """The task with a split in which teammates may also be of types that are not in training."""
    return dataclasses.replace(task, splits=task.splits | {"unseen": Split(pool=replaced(task.pool, learned))})


def with_prey(task: Task) -> Task:
    """The task with the authors' prey."""
    return dataclasses.replace(task, world=dataclasses.replace(task.world, behaviour=PublishedPrey()))


def replaced(pool: Pool, *learned: AbstractFamily) -> Pool:
    """The pool with its scripted types and these learned ones, without those that stand for the authors'."""
    scripted = (family for family in pool.families if isinstance(family, AbstractScripts))
    kept = (Navigators() if isinstance(family, Navigators) else family for family in scripted)
    return dataclasses.replace(pool, families=(*kept, *learned))
