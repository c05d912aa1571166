"""``openteam train``."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import tyro

from openteam.catalogue import catalogue, check_algorithm, check_task
from openteam.commands.checks import check_new_run, check_policy
from openteam.commands.count import Count
from openteam.commands.flags import by_flag, check_flags, parse_flags, split_changes
from openteam.commands.importing import Imports, command_line, split_imports
from openteam.errors import UserError, check_seed, check_whole
from openteam.registry import make_algorithm, set_for_task, short_name
from openteam.storage.imports import import_modules
from openteam.threads import use_cpu_devices
from openteam.training.hosts import hosts_of
from openteam.training.loggers import Log, check_installed, logging_to
from openteam.training.settings import MOST_STEPS, Settings

FIRST = {"envs": "Environments that collect experience side by side.", "learning_rate": "The optimiser's step size."}
"""The settings of algorithms that people change first; all others are in --help-all."""


@dataclasses.dataclass(frozen=True)
class Train:
    """Train an algorithm on a task and keep everything in a run folder."""

    task: tyro.conf.Fixed[str]
    algorithm: tyro.conf.Fixed[str]
    changes: tyro.conf.Fixed[tuple[str, ...]]
    """Words of flags such as --task.world.size 9, for when there is a task."""
    out: Path
    """Run folder to make. With several seeds, one folder seed-N in it for each."""
    steps: Count = Settings.steps
    """Environment steps, over all environments; 6.4e6 is the paper's length."""
    seed: Count = 0
    """The first (or only) seed: same seed, same machine, same result."""
    seeds: Count = 1
    """How many seeds. On a CPU each gets a process of its own, pinned to a core."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints; by default a fortieth of the run, but not less than 20,000."""
    evaluation_episodes: Count = Settings.evaluation_episodes
    """Episodes per split at every checkpoint."""
    compressed_from: Count | None = None
    """Steps of the longer run that this one stands for: target_rate is multiplied by how much shorter this one is."""
    teammates: tuple[Path, ...] = ()
    """Trained runs that join the pool of teammates, with networks of one size."""
    learner: str | None = None
    """The id of the agent that learns, if the task is an environment in plain Python: docs/your-own-environment.md."""
    devices: Count = 1
    """Devices that environments, or several seeds on an accelerator, are spread over: docs/many-machines.md."""
    coordinator: str | None = None
    """HOST:PORT of process 0, for devices of several hosts: docs/many-machines.md."""
    processes: Count | None = None
    """How many processes share the devices."""
    process: Count | None = None
    """The number of this one, from 0 on. Process 0 writes, the others compute along."""
    log: Log = "none"
    """Also send metrics there. The run folder has them in any case."""
    imports: Imports = ()

    def __call__(self) -> None:
        settings = self.check()
        hosts = hosts_of(self.coordinator, self.process, self.processes)
        use_cpu_devices(self.devices if hosts is None else hosts.devices_here(self.devices))
        if hosts is not None:
            hosts.meet()
        from openteam.commands.parts import build, with_teammates
        from openteam.execution.estimate import forecast
        from openteam.execution.processes import cores, on_accelerator
        from openteam.training.compression import compressed
        from openteam.training.driver import create_runs, follow
        from openteam.training.spec import RunSpec

        parts = build(self.task, self.algorithm, self.changes, self.learner)
        task = with_teammates(parts.task, self.teammates)
        learner = compressed(parts.algorithm, self.steps, self.compressed_from or self.steps)
        if self.devices > 1 and self.seeds > 1 and not on_accelerator():
            raise UserError("On a CPU several seeds have a process each, one per core. Leave --devices out.")
        if hosts is not None and not hosts.writes:
            follow([RunSpec(task, learner, settings, seed) for seed in self.numbers], self.devices)
            return
        create_runs(task, learner, settings, self.numbers, self.out, self.devices)
        if said := set_for_task(self.algorithm, parts.task):
            print(said)
        if not on_accelerator():
            print(forecast(self.folders, min(self.seeds, len(cores()))))
        self.bring_to_end(f"{short_name(self.algorithm)} on {task.name}")
        run = shlex.quote(str(self.folders[0]))
        then = command_line(f"openteam evaluate {run} --split {task.split_names[-1]} --episodes 480", self.imports)
        print(f"Finished: {self.out}")
        print(f"Try: {then}")

    def bring_to_end(self, label: str) -> None:
        """One run, or a batch of seeds, in this process; on a CPU several seeds in processes of their own."""
        from openteam.commands.running import report_to, resumable, run_with_bar
        from openteam.execution.processes import advance_runs, on_accelerator
        from openteam.training.progress import ProgressBars

        with logging_to(self.log, self.folders) as logger:
            if self.seeds == 1 or on_accelerator():
                run_with_bar(self.folders, label, logger, self.imports, self.devices)
            else:
                with ProgressBars(label) as bars:
                    report = report_to(bars, logger)
                    resumable(lambda: advance_runs(self.folders, report, self.imports), self.folders, self.imports)

    @property
    def numbers(self) -> range:
        """Its seeds."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def folders(self) -> list[Path]:
        return [self.out] if self.seeds == 1 else [self.out / f"seed-{number}" for number in self.numbers]

    def check(self) -> Settings:
        """Everything that can be wrong before there is a task or an algorithm."""
        check_whole("--seeds", self.seeds, 1, 10_000)
        check_whole("--devices", self.devices, 1, 1024)
        check_seed(self.seed, self.seeds)
        settings = Settings(self.steps, self.checkpoint_every, self.evaluation_episodes)
        if self.compressed_from is not None:
            check_whole("--compressed-from", self.compressed_from, 1, MOST_STEPS)
        check_installed(self.log)
        for run in self.teammates:
            check_policy(run)
        hosts = hosts_of(self.coordinator, self.process, self.processes)
        if hosts is not None:
            hosts.devices_here(self.devices)
        for folder in self.folders if hosts is None or hosts.writes else ():
            check_new_run(folder)
        return settings


def parse(words: list[str]) -> Train:
    """``TASK ALGORITHM`` choose the defaults that all other flags change."""
    imports, words = split_imports(words)
    import_modules(imports)
    count = next((number for number, word in enumerate(words) if word.startswith("-")), len(words))
    names, words = words[:count], words[count:]
    if {"-h", "--help"} & set(words) and not names:
        show_help("TASK", "ALGORITHM")
    task, algorithm = check_names(names)
    if {"-h", "--help"} & set(words):
        show_help(task, algorithm)
    if "--help-all" in words:
        from openteam.commands.parts import show_all_settings

        learner = next((values[0] for flag, values in by_flag(words) if flag == "--learner" and values), None)
        show_all_settings(dataclasses.replace(default_of(task, algorithm), learner=learner))
    command = f"openteam train {task} {algorithm}"
    if ":" not in task + algorithm:
        own = {field.name.replace("_", "-"): "" for field in dataclasses.fields(Train)} | {"import": ""}
        settings = dict(catalogue().tasks[task].settings) | dict(catalogue().algorithms[algorithm].settings)
        check_flags(words, own | settings, command)
    words, changes = split_changes(words)
    return parse_flags(Train, command, words, default_of(task, algorithm, changes, imports))


def default_of(task: str, algorithm: str, changes: tuple[str, ...] = (), imports: tuple[str, ...] = ()) -> Train:
    """What is not said."""
    out = Path("runs") / f"{short_name(task)}-{short_name(algorithm)}"
    return Train(task, algorithm, changes, out, imports=imports)


def check_names(names: Sequence[str]) -> tuple[str, str]:
    """The task and the algorithm, both known and nothing else."""
    tasks, algorithms = catalogue().tasks, catalogue().algorithms
    if not names:
        raise UserError(
            "openteam train needs a task and an algorithm, as in: openteam train lbf gpl-q --out RUN. "
            f"Tasks: {', '.join(tasks)}. Algorithms: {', '.join(algorithms)}."
        )
    if names[0] in algorithms:
        raise UserError(f"'{names[0]}' is an algorithm; the task comes first: openteam train lbf {names[0]} --out RUN.")
    check_task(names[0])
    if len(names) == 1:
        raise UserError(
            f"The algorithm is missing, as in: openteam train {names[0]} gpl-q. Algorithms: {', '.join(algorithms)}."
        )
    check_algorithm(names[1])
    if len(names) > 2:
        raise UserError(f"openteam train takes one task and one algorithm; '{names[2]}' is too much.")
    return names[0], names[1]


def first_settings(algorithm: str) -> Mapping[str, int | float]:
    """What people change first, with its values; a user's algorithm is in a module that has been imported already."""
    if ":" not in algorithm:
        return catalogue().algorithms.get(algorithm, catalogue().algorithms["gpl-q"]).defaults
    learner = make_algorithm(algorithm)
    values = {name: getattr(learner, name, None) for name in FIRST}
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def show_help(task: str, algorithm: str) -> NoReturn:
    """Print the settings that people change first, and exit."""
    tasks, algorithms, defaults = catalogue().tasks, catalogue().algorithms, first_settings(algorithm)
    fields = [(name, Annotated[type(value), tyro.conf.arg(help=FIRST[name])]) for name, value in defaults.items()]
    first = make_dataclass("First", fields)
    shown = make_dataclass("Shown", [("run", Annotated[Train, tyro.conf.arg(name="")]), ("algorithm", first)])
    command = f"openteam train {task} {algorithm}"
    text = [Train.__doc__ or "", f"All settings: {command} --help-all"]
    if task == "TASK":
        text[1:1] = [f"Tasks: {', '.join(tasks)}.", f"Algorithms: {', '.join(algorithms)}."]
    parse_flags(shown, command, ["--help"], shown(default_of(task, algorithm), first(**defaults)), "\n\n".join(text))
    raise SystemExit(0)
