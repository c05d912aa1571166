"""Every algorithm against one of them: differences over the seeds that both have, and how often which one wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openteam.analysis.compare import At, Comparison, Group, Reading
from openteam.analysis.paired import Difference, Improvement, paired_difference, probability_of_improvement
from openteam.errors import UserError
from openteam.storage.config import from_json
from openteam.training.episode_seeds import EpisodeSeeds
from openteam.training.settings import Settings


@dataclass(frozen=True)
class Against:
    """An algorithm on a split of a task, compared with the reference there."""

    task: str
    split: str
    group: Group
    reference: Group
    difference: Difference | None
    """None if the two have no seed in common."""
    improvement: Improvement
    same_episodes: bool
    """Whether both were evaluated on the same episodes, seed by seed."""


def compare_against(comparison: Comparison, name: str, at: At) -> list[Against]:
    """All others against the algorithm of that name, in every task that has it."""
    references = {task: find_reference(groups, name, task) for task, groups in comparison.tasks.items()}
    if not any(references.values()):
        known = ", ".join(dict.fromkeys(f"'{group.shown}'" for group in comparison.groups))
        raise UserError(f"There is no algorithm '{name}' among these runs. There are: {known}.")
    return [
        one_against(task, split, group, reference, at)
        for task, reference in references.items()
        if reference is not None
        for split in comparison.splits(task)
        for group in comparison.tasks[task]
        if group is not reference and split in group.splits and split in reference.splits
    ]


def find_reference(groups: Sequence[Group], name: str, task: str) -> Group | None:
    """By the name it is shown under, or by its algorithm's if only one group has that; None if there is none."""
    for called in (lambda group: group.shown, lambda group: str(group.algorithm), lambda group: group.algorithm.name):
        found = [group for group in groups if called(group) == name]
        if len(found) > 1:
            names = ", ".join(f"'{group.shown}'" for group in found)
            raise UserError(f"'{name}' may be several algorithms on {task}: {names}. Give one of these names in full.")
        if found:
            return found[0]
    return None


def one_against(task: str, split: str, group: Group, reference: Group, at: At) -> Against:
    """Seeds that only one of the two has count for the probability alone."""
    ours, theirs = group.scores(split, at), reference.scores(split, at)
    seeds, others = seeds_of(group), seeds_of(reference)
    shared = [seed for seed in seeds if seed in others]
    pairs = [seeds.index(seed) for seed in shared], [others.index(seed) for seed in shared]
    return Against(
        task, split, group, reference,
        paired_difference(ours[pairs[0]], theirs[pairs[1]]) if shared else None,
        probability_of_improvement([ours], [theirs]),
        bool(shared) and same_episodes(group, reference, split, at, shared),
    )  # fmt: skip


def seeds_of(group: Group) -> list[int]:
    """In the order of its runs."""
    return [run.config["seed"] for run in group.runs]


def same_episodes(one: Group, other: Group, split: str, at: At, seeds: Sequence[int]) -> bool:
    """Whether the runs with these seeds played the same episodes at the checkpoints that are looked at."""
    played = [
        [list(episodes_of(run, split, group.chosen(at))) for run in group.runs if run.config["seed"] in seeds]
        for group in (one, other)
    ]
    return played[0] == played[1]


def episodes_of(run: Reading, split: str, steps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What identifies the episodes of each checkpoint: their seed and their number."""
    learner = from_json(run.config["learner"], run.path)
    chunk, settings = learner.envs * learner.update_every, Settings.from_config(run.config["settings"])
    seeds = EpisodeSeeds(settings, chunk, run.config["seed"], ["train", *run.config["task"]["splits"]])
    for step in steps:
        yield seeds.at(step // chunk, split), settings.evaluation_episodes


@dataclass(frozen=True)
class OverTasks:
    """How probable it is that a run of an algorithm scores more than one of the reference, over several tasks."""

    split: str
    algorithm: str
    tasks: int
    improvement: Improvement


def over_tasks(found: Sequence[Against], at: At) -> list[OverTasks]:
    """Of finished algorithms that met the reference on several tasks; each task counts the same."""
    rows = []
    finished = [one for one in found if one.group.finished and one.reference.finished]
    for split, name in dict.fromkeys((one.split, one.group.shown) for one in finished):
        mine = [one for one in finished if (one.split, one.group.shown) == (split, name)]
        if len(mine) > 1:
            scores = [[group.scores(split, at) for group in (one.group, one.reference)] for one in mine]
            improvement = probability_of_improvement([pair[0] for pair in scores], [pair[1] for pair in scores])
            rows.append(OverTasks(split, name, len(mine), improvement))
    return rows
