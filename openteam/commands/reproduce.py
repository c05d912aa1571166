"""``openteam reproduce``: a table or figure of the paper from nothing, from half of it, or from stored runs."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro
from rich.console import Console

from openteam.commands.checks import check_runs
from openteam.commands.count import Count
from openteam.errors import UserError, check_whole

if TYPE_CHECKING:
    from openteam.analysis.evidence import Evidence
    from openteam.analysis.scales import Scale
    from openteam.execution.plan import PlannedRun

What = Literal["full", "partial", "unseen", "iqm", "shooting", "utilities", "values", "reconstruction", "all"]


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """A table or figure of the paper: train what it needs and is not there yet, then write tables and pictures.

    full, partial and unseen are the paper's tables of returns with their learning curves; iqm its aggregated figure;
    shooting, utilities and values its analyses of FortAttack; reconstruction what beliefs are worth. Given again, it
    skips runs that are finished and resumes those that are not.
    """

    what: tyro.conf.Positional[What]
    """Which; all of them share their runs."""
    scale: Literal["smoke", "laptop", "paper"] = "smoke"
    """smoke: does everything run? 12 minutes; the numbers mean nothing. laptop: a quarter of the paper's steps, 3
    seeds; days. paper: 8 seeds of 6.4 million steps (FortAttack 16), months on two cores. --dry-run says how long."""
    seeds: Count | None = None
    """Instead of the scale's: the first N seeds."""
    out: Path | None = None
    """Folder for runs, tables and figures; by default reproduction/SCALE."""
    runs: tuple[Path, ...] = ()
    """Train nothing: take what these folders of runs have, whatever its length; the rest is missing."""
    processes: Count | None = None
    """Runs at a time, each pinned to a core of its own; by default one per core."""
    dry_run: bool = False
    """Only say what would be done, and how long it would take."""

    def __call__(self) -> None:
        self.check()
        if self.scale == "smoke" and not self.runs:
            os.environ["OPENTEAM_COMPILE"] = "quickest"  # for all processes; before anything compiles
        from openteam.analysis.scales import SCALES, planned_runs
        from openteam.analysis.targets import TARGETS
        from openteam.commands.planning import table_of
        from openteam.execution.processes import cores

        if self.processes is not None and self.processes > len(cores()):
            raise UserError(f"--processes must lie between 1 and the {len(cores())} cores here; got {self.processes}.")
        scale = SCALES[self.scale]
        scale = dataclasses.replace(scale, seeds=self.seeds or scale.seeds)
        planned = [] if self.runs else planned_runs(self.targets(TARGETS), scale, self.folder)
        for run in planned:
            run.check()
        if self.dry_run:
            Console().print(table_of(planned, self.processes or len(cores())))
            return
        failures = self.train(planned)
        self.write(self.evidence(planned, scale), scale)
        if failures:
            listed = " ".join(f"{folder}: {message}" for folder, message in failures.items())
            raise UserError(f"{len(failures)} of {len(planned)} runs failed. {listed} To try again: {self.command}")

    def check(self) -> None:
        """Everything that can be wrong before anything is read."""
        if self.seeds is not None:
            check_whole("--seeds", self.seeds, 1, 1000)
        if self.processes is not None:
            check_whole("--processes", self.processes, 1, 10_000)
        if self.runs:
            check_runs("reproduce --runs", self.runs)
            if self.seeds or self.dry_run:
                raise UserError("--runs takes stored runs as they are: leave --seeds and --dry-run out.")
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"Cannot write to {self.folder}: it is a file. Choose another --out.")

    @property
    def folder(self) -> Path:
        return self.out or Path("reproduction") / ("stored" if self.runs else self.scale)

    @property
    def command(self) -> str:
        words = ["openteam", "reproduce", self.what]
        words += ["--runs", *map(str, self.runs)] if self.runs else ["--scale", self.scale]
        words += ["--seeds", str(self.seeds)] if self.seeds else []
        return shlex.join([*words, "--out", str(self.folder)])

    def targets(self, known: dict) -> list:
        return list(known.values()) if self.what == "all" else [known[self.what]]

    def train(self, planned: list[PlannedRun]) -> dict[Path, str]:
        """Bring all runs to their end; one whose process dies is resumed. What is still unfinished, and why."""
        from openteam.commands.status_table import StatusTable
        from openteam.execution.plan import unfinished
        from openteam.execution.worker import work

        left = unfinished(planned)
        if not left:
            return {}
        try:
            with StatusTable([run.folder for run in planned]):
                return work(left, processes=self.processes, wait=False)
        except KeyboardInterrupt:
            raise UserError(f"Interrupted; nothing is lost. To go on: {self.command}") from None

    def evidence(self, planned: list[PlannedRun], scale: Scale) -> Evidence:
        """What is finished, by task and row of the paper."""
        from openteam.analysis.compare import compare
        from openteam.analysis.evidence import planned_evidence, stored_evidence
        from openteam.analysis.targets import TARGETS

        if self.runs:
            return stored_evidence(compare(self.runs), self.targets(TARGETS))
        rows = {run.folder: run.folder.parent.name for run in planned}
        return planned_evidence(planned, rows, scale.seeds, scale.sentence)

    def write(self, evidence: Evidence, scale: Scale) -> None:
        """All tables and figures that were asked for."""
        from openteam.analysis.targets import TARGETS
        from openteam.commands.reproduction.products import Products
        from openteam.commands.reproduction.writing import Writer
        from openteam.compile_cache import use_compile_cache
        from openteam.storage.about import about

        use_compile_cache()
        for sentence in evidence.left_out:
            print(sentence)
        smoke = scale.name == "smoke" and not self.runs
        writer = Writer(self.folder, evidence.note, smoke)
        products = Products(evidence, writer, scale.analysis_episodes, not smoke)
        for target in self.targets(TARGETS):
            products.make(target.name)
        made = {"command": shlex.split(self.command), "scale": "stored" if self.runs else scale.name}
        writer.finish(about() | made | {"runs": [str(path.resolve()) for path in self.runs]})
        print(f"Tables and figures: {self.folder}. As one page: openteam report {shlex.quote(str(self.folder))}")
