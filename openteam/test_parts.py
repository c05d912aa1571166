"""Parts of a task that contradict each other are refused when the task is made, in a sentence."""

import dataclasses

import equinox as eqx
import pytest

import openteam
from openteam.errors import UserError
from openteam.openness import Casualties, Closed, Lifetimes
from openteam.prey.evasion import Evasion
from openteam.prey.learned import LearnedPrey
from openteam.probes import FirstStepOnly
from openteam.task import Split, Task
from openteam.teammates import AbstractFamily, Foragers, Hunters, Navigators, Pool, Uniform, UniformRandom
from openteam.views import Radius, Window
from openteam.worlds.fortattack import FortAttack, Shooting
from openteam.worlds.lbf import Foraging
from openteam.worlds.navigation import Navigation
from openteam.worlds.wolfpack import Wolfpack

ANYBODY = Pool((Uniform(),))


def fort(world=FortAttack(), openness=Casualties(), pool=ANYBODY, horizon=100):
    return Task(world, openness, pool, horizon=horizon)


REFUSED = {
    "another grid than the hunters'": (
        lambda: Task(Wolfpack(size=14), Closed(3), Pool((Hunters(),))),
        r"know a grid of 10x10 cells and the world has 14x14. Give the pool Hunters\(grid=14\)",
    ),
    "another grid than the hunters' of a split": (
        lambda: Task(Wolfpack(size=14), Closed(3), ANYBODY, splits={"other": Split(pool=Pool((Hunters(),)))}),
        "know a grid of 10x10 cells and the world has 14x14",
    ),
    "another grid than the hunters' of prey": (
        lambda: Task(Evasion(Pool((Hunters(),)), size=6), Closed(2), ANYBODY),
        "know a grid of 10x10 cells and the world has 6x6",
    ),
    "hunters of another world chase prey": (
        lambda: Task(Evasion(Pool((Foragers(),))), Closed(2), ANYBODY),
        "foragers cannot act in a world with 2 features of an agent, 12 shared ones and 5 actions",
    ),
    "a team too large for the world, in a split": (
        lambda: Task(Wolfpack(size=2), Closed(2), ANYBODY, splits={"larger": Split(openness=Closed(3))}),
        "3 hunters and 2 prey do not fit on a 2x2 grid",
    ),
    "a horizon before the fort is held": (
        lambda: fort(horizon=50),
        "100 steps and the task's horizon is 50",
    ),
    "a horizon after the fort is held": (
        lambda: fort(horizon=101),
        "ends after 100 steps and the task's horizon is 101",
    ),
    "an odd number of teams": (lambda: fort(pool=Pool((Uniform(),), teams=3)), "two teams.*a pool with teams 3"),
    "teams that slots cannot form": (
        lambda: Task(Foraging(), Closed(3), Pool((Uniform(),), teams=2)),
        "3 slots cannot be 2 teams of equal size",
    ),
    "a learner that is hit and goes on": (
        lambda: fort(FortAttack(learner_hit_ends=False)),
        "learner_hit_ends False and the openness's learner_stays True",
    ),
    "a learner that is out when the game ends": (
        lambda: fort(openness=Casualties(learner_stays=False)),
        "learner_hit_ends True and the openness's learner_stays False",
    ),
    "no time out": (lambda: Task(Foraging(), Casualties(), ANYBODY), "a field `out_for`; ForagingState has none"),
    "more prey than policies": (
        lambda: Wolfpack(prey=3, behaviour=LearnedPrey()),
        "names 2 policies and the world has 3 prey",
    ),
    "prey that are no prey": (
        lambda: Wolfpack(behaviour=LearnedPrey(weights="lbf", names=("ac", "ac-12x12"))),
        "know 3 features of an agent, 9 shared ones and 6 actions; a prey has 19, 0 and 7",
    ),
    "a window without a grid": (
        lambda: Task(FortAttack(), Casualties(), ANYBODY, view=Window(), horizon=100),
        "A Window needs a world on a grid; FortAttack has no size",
    ),
    "a radius without a grid": (
        lambda: Task(FortAttack(), Casualties(), ANYBODY, view=Radius(), horizon=100),
        "A Radius needs a world on a grid",
    ),
    "a probe's view of another world": (
        lambda: Task(Foraging(), Closed(3), ANYBODY, view=FirstStepOnly()),
        "FirstStepOnly is a view of probes; got a Foraging",
    ),
    "foragers in Wolfpack": (lambda: Task(Wolfpack(), Closed(3), Pool((Foragers(),))), "Scripted foragers cannot act"),
    "hunters in Navigation": (lambda: Task(Navigation(), Closed(3), Pool((Hunters(),))), "Scripted hunters cannot act"),
    "navigators in Wolfpack": (
        lambda: Task(Wolfpack(), Closed(3), Pool((Navigators(),))),
        "Scripted navigators cannot act in a world with 2 features of an agent, 12 shared ones and 5 actions",
    ),
    "a time out that does not fall": (lambda: Shooting(closest=0.95), "0 <= closest < harmless; got 0.95 and 0.95"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_contradiction_is_refused_when_the_task_is_made(name):
    make, message = REFUSED[name]
    with pytest.raises(UserError, match=message):
        make()


@pytest.mark.parametrize(
    "task",
    [
        lambda: Task(Wolfpack(size=14), Closed(3), Pool((Hunters(grid=14),))),
        lambda: Task(Evasion(Pool((Hunters(grid=6),)), size=6), Closed(2), ANYBODY),
        lambda: fort(FortAttack(steps=50), horizon=50),
        lambda: fort(pool=Pool((Uniform(),), teams=2)),
        lambda: fort(pool=Pool((Uniform(),), teams=6)),
        lambda: fort(FortAttack(learner_hit_ends=False), Casualties(learner_stays=False)),
        lambda: fort(FortAttack(learner_hit_ends=False), Lifetimes(cap=4)),
        lambda: Task(Foraging(foods=5), Closed(3), Pool((Foragers(),))),
    ],
)
def test_parts_that_agree_are_a_task(task):
    assert task().slots > 0


def test_one_who_changes_a_world_must_change_what_repeats_its_facts():
    task = openteam.make("fortattack")
    with pytest.raises(UserError, match="horizon is 100"):
        dataclasses.replace(task, world=FortAttack(steps=50))
    assert dataclasses.replace(task, world=FortAttack(steps=50), horizon=50).horizon == 50


def test_a_part_of_your_own_may_check_the_others():
    class Sprinters(AbstractFamily):
        names: tuple[str, ...] = eqx.field(static=True, default=("sprinter",))

        def member(self, index):
            return UniformRandom()

        def check_parts(self, parts):
            if parts.horizon > 10:
                raise UserError(f"Sprinters last 10 steps; got {parts.horizon}.")

    with pytest.raises(UserError, match="Sprinters last 10 steps; got 50"):
        Task(Foraging(), Closed(2), Pool((Sprinters(),)))
    assert Task(Foraging(), Closed(2), Pool((Sprinters(),)), horizon=10).pool.names == ("sprinter",)
