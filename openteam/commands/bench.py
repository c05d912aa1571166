"""``openteam bench``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from openteam.catalogue import check_algorithm
from openteam.commands.checks import check_tasks
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.errors import UserError, check_whole
from openteam.storage.imports import import_modules
from openteam.threads import usable_cores

Part = Literal["training", "released", "decisions", "raw", "teams", "devices"]
DEFAULTS = {"--parts": "training, released, decisions", "--tasks": "lbf-released", "--algorithms": "gpl-q"}
RAW_TASKS = ("lbf-released", "wolfpack", "fortattack", "lbf-partial", "wolfpack-partial", "navigation-partial")


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure training, decisions, raw stepping, large teams and several devices, beside plain matrix products.

    By default GPL-Q on one task: about five minutes on an idle core, most of them the compiler's. An algorithm more, or
    a task, is about two minutes more; with the released sizes twice that.
    """

    parts: tuple[Part, ...] = ("training", "released", "decisions")
    """What to measure. training: steps/s, the share of plain products, compilation, memory; released: the same with the
    released code's sizes; decisions: one decision in teams of 3 to 1000; raw: stepping without learning, 3 minutes;
    teams: a training step and its memory as the team grows, 5 minutes per algorithm; devices: one run on several CPU
    devices, 1 minute per algorithm."""
    tasks: tuple[str, ...] = ("lbf-released",)
    """Tasks to measure. Where not all is visible: lbf-partial-released."""
    algorithms: tuple[str, ...] = ("gpl-q",)
    """Algorithms to measure; 'all' for those that the paper compares on tasks of this kind, 45 minutes."""
    envs: tuple[int, ...] = (16,)
    """Environments that train side by side."""
    raw_tasks: tuple[str, ...] = RAW_TASKS
    """Tasks that are stepped without learning."""
    raw_envs: tuple[int, ...] = (64, 1024)
    """Environments that are stepped side by side without learning."""
    team_sizes: tuple[int, ...] = (3, 10, 30, 100, 300, 1000)
    """Sizes of teams, learner included, for --parts teams."""
    team_envs: Count = 4
    """Environments that train side by side in large teams: what is quadratic soon fills the memory."""
    devices: tuple[int, ...] = (1, 2)
    """Numbers of CPU devices, for --parts devices; each must divide the environments."""
    processes: Count = dataclasses.field(default_factory=usable_cores)
    """Also measure this many processes at once, one pinned to each core, and add their speeds."""
    budget: float = 3.0
    """Seconds for each figure."""
    json: Path | None = None
    """Also write the figures there, each as soon as it is known."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        from openteam.commands.benching.report import report
        from openteam.storage.classes import check_imported

        check_imported((*self.tasks, *self.raw_tasks, *self.algorithms))
        report(self)

    def check(self) -> None:
        """Everything that can be wrong before anything is measured."""
        check_whole("--processes", self.processes, 1, 1024)
        for name, values in (("--parts", self.parts), ("--tasks", self.tasks), ("--algorithms", self.algorithms)):
            if not values:
                raise UserError(f"openteam bench needs something after {name}; without that flag: {DEFAULTS[name]}.")
        if "released" in self.parts and "training" not in self.parts:
            raise UserError("The released sizes are measured beside ours: --parts training released.")
        check_tasks((*self.tasks, *self.raw_tasks))
        self.check_algorithms()
        self.check_numbers()

    def check_algorithms(self) -> None:
        """All are known, and 'all' stands alone."""
        if self.algorithms == ("all",):
            return
        if "all" in self.algorithms:
            raise UserError("--algorithms all means all that are compared; name no others beside it.")
        for algorithm in self.algorithms:
            check_algorithm(algorithm)

    def check_numbers(self) -> None:
        """All are in their range."""
        if not self.envs:
            raise UserError("openteam bench needs at least one number of environments after --envs.")
        if not self.team_sizes or not self.devices:
            raise UserError("openteam bench needs at least one number after --team-sizes and after --devices.")
        for envs in (*self.envs, *self.raw_envs, self.team_envs):
            check_whole("the number of environments", envs, 1, 2**20)
        for agents in self.team_sizes:
            check_whole("the size of a team", agents, 2, 2**20)
        for count in self.devices:
            check_whole("the number of devices", count, 1, 1024)
            if "devices" in self.parts and self.envs[0] % count:
                raise UserError(f"{self.envs[0]} environments cannot be spread evenly over {count} devices.")
        if not 0 < self.budget < 3600:
            raise UserError(f"--budget must lie between 0 and 3600 seconds; got {self.budget}.")
