"""``openteam reproduce`` and ``openteam report`` on the smallest figure of the paper, which needs one run."""

import csv
import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from openteam.analysis.aggregate import aggregates
from openteam.analysis.compare import Comparison, Group, Reading, compare
from openteam.analysis.evidence import Evidence, planned_evidence, stored_evidence
from openteam.analysis.labels import Label
from openteam.analysis.scales import SCALES, planned_runs
from openteam.analysis.targets import TARGETS, runs_of
from openteam.commands.report import Report
from openteam.commands.reproduce import Reproduce
from openteam.commands.reproduction.tables import cells_csv, length_on, ours, paper_sheet, sheet_latex
from openteam.errors import UserError
from openteam.execution import processes


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The paper's figure of utilities at smoke scale; its worker is killed once, at its first checkpoint."""
    out = tmp_path_factory.mktemp("reproduction") / "smoke"
    started, killed = [], []
    start = processes._start

    def noted(*args):
        connection, process = start(*args)
        started.append(process)
        return connection, process

    def kill() -> None:
        while not killed:
            if started and next(out.rglob("state.safetensors"), None):
                os.kill(started[0].pid, signal.SIGKILL)
                killed.append(started[0].pid)
            time.sleep(0.02)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "_start", noted)
        patch.setenv("OPENTEAM_COMPILE", "quickest")
        threading.Thread(target=kill, daemon=True).start()
        Reproduce("utilities", out=out, processes=1)()
    assert len(started) == 2, "the run whose worker was killed must have been resumed once"
    return out


def test_the_smallest_figure_comes_in_all_formats_marked_as_smoke(smoke):
    made = json.loads((smoke / "reproduction.json").read_text())
    assert {one["kind"] for one in made["written"]} == {"table", "figure"}
    files = [name for one in made["written"] for name in one["files"]]
    assert {name.rsplit(".", 1)[1] for name in files} == {"txt", "csv", "tex", "md", "png", "svg"}
    assert all((smoke / name).stat().st_size for name in files)
    assert "SMOKE" in " ".join((smoke / "tables" / "utilities.txt").read_text().split())
    assert made["note"].startswith("SMOKE")
    assert made["scale"] == "smoke"


def test_given_again_it_trains_nothing(smoke, monkeypatch):
    monkeypatch.setattr(processes, "_start", lambda *args: pytest.fail("a finished run was begun again"))
    again = Reproduce("utilities", out=smoke)
    planned = planned_runs([TARGETS["utilities"]], SCALES["smoke"], smoke)
    assert all(run.finished for run in planned)
    assert not again.train(planned)


def test_every_number_of_the_report_links_to_its_runs(smoke, tmp_path):
    page = tmp_path / "report.html"
    Report(smoke, out=page)()
    content = page.read_text()
    targets = set(re.findall(r'href="#(runs-\w+)"', content))
    assert targets
    assert targets <= set(re.findall(r'</summary><div id="(runs-\w+)"', content))  # inside, so that a link opens it
    assert "SMOKE" in content
    assert "data:image/svg+xml;base64," in content
    assert not re.findall(r'(?:src|href)="https?:', content), "the page must be self-contained"
    run = next(smoke.rglob("about.json"))
    assert json.loads(run.read_text())["machine"]["cpu"] in content
    assert "seed-0" in content


def test_what_was_not_trained_is_missing_and_not_zero(smoke):
    evidence = stored_evidence(compare([smoke]), [TARGETS["full"]])
    rows = {row[0]: row for row in paper_sheet(TARGETS["full"], evidence).rows}
    assert rows["QL"][1] == "missing"
    assert rows["GPL-Q"][5] != "missing"
    assert rows["GPL-Q"][1] == "missing"
    numbers = {
        (row["task"], row["row"]): row for row in csv.DictReader(cells_csv(TARGETS["full"], evidence).splitlines())
    }
    assert numbers["lbf-released", "ql"]["mean"] == ""
    assert numbers["fortattack-released", "gpl-q"]["seeds"] == "1"


def test_unfinished_runs_do_not_count(tmp_path):
    planned = planned_runs([TARGETS["utilities"]], SCALES["smoke"], tmp_path)
    evidence = planned_evidence(planned, {run.folder: "gpl-q" for run in planned}, 1, "")
    assert not evidence.groups
    assert len(evidence.left_out) == 1


def made_up(task: str, row: str, steps: int, seeds: int, changes: str = "") -> Group:
    config = {"settings": {"steps": steps}}
    runs = tuple(
        Reading(Path(), config | {"seed": seed}, {"train": {steps: 1.0}, "larger": {steps: 1.0}})
        for seed in range(seeds)
    )
    return Group(Label(task, changes), Label(row), steps, True, runs)


def test_the_paper_scale_is_the_papers():
    planned = planned_runs(TARGETS.values(), SCALES["paper"], Path("out"))
    assert len(planned) == 8 * len(set(runs_of(TARGETS.values()))) == 8 * 48
    by_task = {run.task: run.settings for run in planned}
    assert by_task["lbf-released"].steps == 6_400_000
    assert by_task["fortattack-released"].steps == 16_000_000
    assert {settings.checkpoint_every for settings in by_task.values()} == {160_000}


def test_other_lengths_are_said_in_words():
    places = {("lbf-released", row): made_up("lbf-released", row, steps, 2)
              for row, steps in (("gpl-q", 1_600_000), ("ql", 1_600_000), ("gnn", 800_000))}  # fmt: skip
    assert length_on("lbf-released", places) == "1.6M of the paper's 6.4M steps on lbf-released (0.8M: GNN)"
    assert length_on("wolfpack-released", places) == ""


def test_rows_of_one_length_and_one_set_of_rules_go_into_a_table():
    usual = [made_up("lbf-released", row, 1_600_000, 2) for row in ("gpl-q", "ql", "gnn")]
    longer = [
        made_up("lbf-released", "gpl-q", 6_400_000, 3),
        made_up("lbf-released", "ql", 1_600_000, 3, "other rules"),
    ]
    only = made_up("lbf-released", "dgn", 800_000, 1)
    evidence = stored_evidence(Comparison((*longer, *usual, only), ()), [TARGETS["full"]])
    found = {row: (group.task.changes, group.steps) for (_, row), group in evidence.groups.items()}
    assert found == dict.fromkeys(("gpl-q", "ql", "gnn"), ("", 1600000)) | {"dgn": ("", 800_000)}


def test_interquartile_means_go_by_the_papers_row_whatever_the_preset_is_called():
    group = made_up("lbf-partial-released", "gpl-q-factored", 1_600_000, 2)
    evidence = stored_evidence(Comparison((group,), ()), [TARGETS["iqm"]])
    (one,) = aggregates(TARGETS["iqm"], evidence)
    assert (one.row, one.scores, one.middle, one.low, one.high) == ("gpl-q", 4, 1.0, 1.0, 1.0)


def test_latex_has_no_bare_special_letters(smoke):
    sheet = paper_sheet(TARGETS["full"], Evidence({}, 1, "50 % of a_b & c"))
    assert r"50 \% of a\_b \& c" in sheet_latex(sheet)
    assert ours(Evidence({}).cell(TARGETS["full"], "lbf-released", "ql")) == "missing"


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (lambda path: Reproduce("full", seeds=0, out=path), "--seeds"),
        (lambda path: Reproduce("full", runs=(path / "nothing",)), "no run"),
        (lambda path: Reproduce("full", processes=999, out=path / "new"), "--processes"),
        (lambda path: Report(path), "no run"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(command, word, tmp_path):
    with pytest.raises(UserError, match=word):
        command(tmp_path)()
