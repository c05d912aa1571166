"""Runs: train, evaluate at checkpoints, write, go on after an interruption.

A run is cut into stretches between which it can be watched and written down. Where the cuts fall changes nothing, so a
killed run that is resumed ends where an unkilled one does. A new run is resumed from nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeGuard

import jax
import numpy as np

from openteam.compile_cache import give_memory_back, giving_memory_back, use_compile_cache
from openteam.core.learner import AbstractLearner
from openteam.errors import UserError
from openteam.host.calling import HostError
from openteam.host.task import HostTask
from openteam.storage.classes import import_flags
from openteam.storage.creation import check_free, staged
from openteam.storage.lock import Held, Lost, Terms, alone_in
from openteam.storage.run_folder import RunFolder
from openteam.storage.writing import WriteError
from openteam.task import Task
from openteam.threads import usable_cores
from openteam.training.evaluator import Evaluation, evaluate_checkpoint
from openteam.training.host_program import HostProgram
from openteam.training.loop import Carry
from openteam.training.program import Program
from openteam.training.recorder import Recorder
from openteam.training.resuming import is_done
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec
from openteam.training.stretch import AnyProgram, Stretch, train


@dataclasses.dataclass(frozen=True)
class Progress:
    """What there is to show while a run goes on."""

    seed: int
    step: int
    steps: int
    steps_per_second: float | None = None
    train_return: float | None = None
    evaluation: dict[str, float] | None = None
    metrics: dict[str, float | None] | None = None


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Show nothing."""
    del progress


def create_run(
    task: Task | HostTask, learner: AbstractLearner, settings: Settings, seed: int, path: Path | str
) -> RunFolder:
    """A new folder with a run that has not begun."""
    return RunFolder(create_runs(task, learner, settings, [seed], path)[0])


def create_runs(
    task: Task | HostTask,
    learner: AbstractLearner,
    settings: Settings,
    seeds: Sequence[int],
    out: Path | str,
    devices: int = 1,
) -> list[Path]:
    """New folders with runs that have not begun: ``out`` itself, or one in it for each of several seeds.

    Whatever can be wrong is found before there is a folder, and all folders appear at once.
    """
    out = Path(out)
    names = [""] if len(seeds) == 1 else [f"seed-{seed}" for seed in seeds]
    specs = [RunSpec(task, learner, settings, seed) for seed in seeds]
    configs = [spec.config for spec in specs]
    program_of(specs if devices > 1 else specs[:1], devices).start_shapes()
    for name in names:
        check_free(out / name)
    with staged(out) as stage:
        for name, config in zip(names, configs, strict=True):
            folder = RunFolder(stage / name)
            folder.fill(config)
            RunSpec.from_config(folder.config, folder.path)  # what cannot be read back is not begun
    return [out / name for name in names]


def run_folders(
    paths: Sequence[Path | str], report: Report = silent, terms: Terms | None = None, devices: int = 1
) -> None:
    """Bring runs that differ in their seeds only to their end, from the last states they wrote or from nothing.

    An interrupt between checkpoints writes a state to resume from; during a checkpoint the last one stays, so that
    resuming writes that checkpoint whole.
    """
    use_compile_cache()
    folders = [RunFolder.open(path) for path in paths]
    if all(folder.finished for folder in folders):
        for folder in folders:  # believed only after a look at everything; nobody is kept out for that
            is_done(folder, RunSpec.from_config(folder.config, folder.path))
        return
    with contextlib.ExitStack() as claims:
        writers = [claims.enter_context(alone_in(folder.path, terms)) for folder in folders]
        try:
            recorders = [Recorder(folder, writer, devices) for folder, writer in zip(folders, writers, strict=True)]
            with contextlib.closing(program_of([recorder.spec for recorder in recorders], devices)) as program:
                bring_to_end(program, recorders, report)
        except (Held, Lost):
            raise
        except Exception as error:
            for writer in writers:
                writer.note(state="failed", failure=str(error) or type(error).__name__)
            if isinstance(error, (WriteError, HostError)):
                raise UserError(f"{error} {how_to_go_on(folders, error)}") from None
            raise


def how_to_go_on(folders: Sequence[RunFolder], error: WriteError | HostError) -> str:
    """After a full disk, or a mistake in a user's environment."""
    where = folders[0].path if len(folders) == 1 else folders[0].path.parent
    mended = "it can be written again" if isinstance(error, WriteError) else "that is mended"
    imports = imports_of(RunSpec.from_config(folders[0].config, folders[0].path))
    again = " ".join(["openteam resume", shlex.quote(str(where)), *imports])
    return f"What was written before stays as it was. Once {mended}, go on with: {again}"


def imports_of(spec: RunSpec) -> list[str]:
    """The flags that a command needs for an environment in plain Python."""
    names = spec.task.settings.names if isinstance(spec.task, HostTask) else []
    modules = dict.fromkeys(name.partition(":")[0] for name in names)
    return [import_flags(modules)] if modules else []


def program_of(specs: Sequence[RunSpec], devices: int = 1) -> AnyProgram:
    """The program for the task of these runs, compiled as a whole or around environments in plain Python."""
    if not isinstance(specs[0].task, HostTask):
        return Program(specs, devices)
    if devices > 1:
        raise UserError(f"'{specs[0].task.name}' is an environment in plain Python, which is trained on one device.")
    return HostProgram(specs)


def bring_to_end(program: AnyProgram, recorders: Sequence[Recorder], report: Report) -> None:
    """Restore or start, then train and write checkpoints until all updates are done."""
    if all(is_done(recorder.folder, recorder.spec) for recorder in recorders):
        return
    restored, updates = restore(program, recorders)
    if restored is None:
        carry, updates = begin(program, recorders, report)
    else:
        carry = go_on(program, recorders, restored, updates)
    try:
        while updates < program.spec.updates:
            after, stretch = train(program, carry, updates)
            record(program, recorders, stretch, report)
            carry, updates = after, stretch.updates
            if program.spec.checkpoint_due(updates):
                write_checkpoint(program, recorders, carry, updates, report)
    except KeyboardInterrupt:
        # A state at a checkpoint says that this is written; of several processes, the others would have to help.
        if not program.spec.checkpoint_due(updates) and jax.process_count() == 1:
            write_states(recorders, program.split(carry), updates)
        raise


def go_on(program: AnyProgram, recorders: Sequence[Recorder], restored: Carry, updates: int) -> Carry:
    """Compile, and forget what was written after the state that is gone on from."""
    with giving_memory_back():
        carry = program.resumed(restored)
        program.advance(carry, 0)
    for recorder in recorders:
        recorder.begin(updates)
    return carry


def begin(program: AnyProgram, recorders: Sequence[Recorder], report: Report) -> tuple[Carry, int]:
    """Start, compile, evaluate and write the checkpoint at step 0.

    With a core to spare, the programs that start and train are compiled at once, and the evaluation goes on beside
    training, whose rows wait for it. Not beside compiling: that would keep training waiting.
    """
    spec, updates, trained, evaluated = program.spec, 0, [], None
    with giving_memory_back(), ThreadPoolExecutor(1) as beside:
        if has_core_to_spare(program):
            started = beside.submit(program.start)
            program.compile()
            carry = start = started.result()
            evaluated = beside.submit(evaluations, recorders, program.split(start), 0)
        else:
            carry = start = program.start()
            program.advance(start, 0)
        while evaluated and not evaluated.done() and not spec.checkpoint_due(spec.next_row(updates)):
            carry, stretch = train(program, carry, updates)
            updates = stretch.updates
            trained.append(stretch)
    for recorder in recorders:
        recorder.begin(0)
    write_checkpoint(program, recorders, start, 0, report, evaluated and evaluated.result())
    for stretch in trained:
        record(program, recorders, stretch, report)
    return carry, updates


def has_core_to_spare(program: AnyProgram) -> TypeGuard[Program]:
    """Whether two things may go on beside each other: on one core that would only take more memory."""
    return isinstance(program, Program) and program.mesh is None and usable_cores() > 1


def follow(specs: Sequence[RunSpec], devices: int) -> None:
    """Compute along with the process that writes these runs: the same steps, and what its checkpoints gather."""
    use_compile_cache()
    program = program_of(specs, devices)
    carry, updates, spec = program.start(), 0, program.spec
    program.advance(carry, 0)
    program.split(carry)
    while updates < spec.updates:
        count = spec.next_row(updates) - updates
        carry, sums = program.advance(carry, count)
        if not all(np.isfinite(value).all() for value in sums.values()):
            raise UserError("A number stopped being finite, and the run ends; process 0 says which.")
        updates += count
        if spec.checkpoint_due(updates):
            program.split(carry)


def restore(program: AnyProgram, recorders: Sequence[Recorder]) -> tuple[Carry | None, int]:
    """Where the runs left off: their carry and its number of updates; None before the first checkpoint."""
    states = [recorder.restore(program.start_shapes) for recorder in recorders]
    found = [state for state in states if state is not None]
    if not found:
        return None, 0
    if len(found) < len(states) or len({updates for _, updates in found}) > 1:
        raise UserError("These runs did not get equally far. Resume them one by one.")
    return program.join([carry for carry, _ in found]), found[0][1]


def record(program: AnyProgram, recorders: Sequence[Recorder], stretch: Stretch, report: Report) -> None:
    """Write its row of metrics. At the first number that is not finite, stop; what is on disk stays as it was."""
    chunk = program.spec.chunk
    for number, recorder in enumerate(recorders):
        if bad := stretch.not_finite(number):
            raise UserError(
                f"Seed {recorder.spec.seed}: {', '.join(bad)} stopped being finite at step "
                f"{int(stretch.reached[number]) * chunk}. The run ends; its last good checkpoint is in "
                f"{recorder.folder.path}. A lower learning rate or max_grad_norm may help."
            )
    step, steps, speed = stretch.updates * chunk, program.spec.updates * chunk, stretch.count * chunk / stretch.seconds
    for number, recorder in enumerate(recorders):
        metrics = stretch.metrics(number)
        recorder.training_row(stretch.updates, stretch.seconds, metrics)
        report(Progress(recorder.spec.seed, step, steps, speed, metrics["return"], metrics=metrics))


def write_checkpoint(
    program: AnyProgram,
    recorders: Sequence[Recorder],
    carry: Carry,
    updates: int,
    report: Report,
    evaluated: list[Evaluation] | None = None,
) -> None:
    """Evaluate the frozen policies, unless that has been done; write rows and policies, then the states."""
    spec = program.spec
    give_memory_back()
    carries = program.split(carry)
    evaluated = evaluated or evaluations(recorders, carries, updates)
    for recorder, one, evaluation in zip(recorders, carries, evaluated, strict=True):
        recorder.checkpoint(one, updates, evaluation)
        step, steps = updates * spec.chunk, spec.updates * spec.chunk
        report(Progress(recorder.spec.seed, step, steps, evaluation=evaluation.means))
    write_states(recorders, carries, updates)
    give_memory_back()  # what compiling the evaluation took


def evaluations(recorders: Sequence[Recorder], carries: Sequence[Carry], updates: int) -> list[Evaluation]:
    """What is measured of every run's frozen policy."""
    return [
        evaluate_checkpoint(recorder.spec, recorder.spec.learner.frozen(one.train.model), updates)
        for recorder, one in zip(recorders, carries, strict=True)
    ]


def write_states(recorders: Sequence[Recorder], carries: Sequence[Carry], updates: int) -> None:
    """Everything that every run needs to go on."""
    for recorder, one in zip(recorders, carries, strict=True):
        recorder.state(one, updates)
