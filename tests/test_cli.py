"""What a user may get wrong: one sentence, exit code 2, nothing lost."""

import os
import shutil
import stat

import numpy as np
import pytest
from safetensors.numpy import save_file

from openteam.cli import run

SMALL = [
    "--algorithm.envs",
    "2",
    "--algorithm.hidden",
    "4",
    "--algorithm.encoder-width",
    "4",
    "--algorithm.type-size",
    "4",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    assert run(["train", "probe-constant", "gpl-q", "--steps", "64", "--evaluation-episodes", "4", *SMALL,
                "--out", str(out)]) == 0  # fmt: skip
    return out


def failure(capsys, *words: str) -> str:
    """The one sentence that these words earn."""
    try:
        code = run(list(words))
    except SystemExit as stop:  # flags are parsed by tyro, which exits by itself
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2, captured
    assert "Traceback" not in captured.out + captured.err
    return captured.err + captured.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["trian"], "Did you mean 'train'?"),
        (["train"], "needs a task and an algorithm"),
        (["train", "lbf-relased", "gpl-q", "--out", "x"], "Did you mean 'lbf-released'?"),
        (["train", "lbf", "glp-q", "--out", "x"], "Did you mean 'gpl-q'?"),
        (["train", "lbf", "gpl-q", "--out", "x", "--algorithm.learning-rat", "1"], "--algorithm.learning-rate"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "-5"], "at least 1 step; got -5"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "ten"], "ten"),
        (["train", "lbf", "gpl-q", "--out", "x", "--seeds", "0"], "--seeds must be at least 1"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.openness.cap", "1"], "cap of at least 2"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.openness.start-low", "0"], "start with 1 to cap"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.openness.lifetime", "9", "3"], "1 <= low <= high"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.world.size", "2"], "size >= 3"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.horizon", "0"], "at least 1 step"),
        (["train", "lbf", "gpl-q", "--out", "x", "--algorithm.hidden", "0"], "hidden must be positive"),
        (["train", "lbf", "gpl-q", "--out", "x", "--task.pool.families.0.names", "H9"], "H1, H2"),
        (["train", "my_wordls:maze", "gpl-q", "--out", "x", "--import", "my_wordls"], "no module 'my_wordls'"),
        (
            ["train", "--import", "json", "lbf", "json:dumps", "--out", "x"],
            "json:dumps must make the algorithm without",
        ),
        (["train", "my_worlds:maze", "gpl-q", "--out", "x"], "add --import my_worlds"),
        (["record", "my_worlds:maze", "--out", "x"], "add --import my_worlds"),
        (["evaluate", "nowhere"], "no checkpoint at nowhere"),
        (["resume", "nowhere"], "no run at nowhere"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(capsys, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    assert expected in failure(capsys, *words)
    assert list(tmp_path.iterdir()) == []


def test_more_agents_than_cells_is_refused(capsys, tmp_path):
    words = ["--task.world.size", "3", "--task.openness.cap", "9", "--task.openness.teammates", "8"]
    assert "9 agents do not fit on a 3x3 grid" in failure(
        capsys, "train", "lbf", "gpl-q", "--out", str(tmp_path / "x"), *words
    )


def test_an_existing_run_folder_is_not_touched(capsys, trained):
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    message = failure(capsys, "train", "probe-constant", "gpl-q", "--out", str(trained))
    assert f"openteam resume {trained}" in message
    assert {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()} == before


@pytest.fixture
def copy(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy")


def last_checkpoint(folder):
    return sorted((folder / "checkpoints").iterdir())[-1]


def test_a_flipped_bit_in_a_checkpoint_is_named_not_believed(capsys, copy):
    path = last_checkpoint(copy)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert "is damaged: its numbers do not match" in failure(capsys, "evaluate", str(copy))


def test_half_a_checkpoint_is_named(capsys, copy):
    path = last_checkpoint(copy)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert str(path) in failure(capsys, "evaluate", str(copy))


def test_a_damaged_state_is_named_at_resume(capsys, copy):
    path = copy / "state.safetensors"
    path.write_bytes(b"\0" * 100)
    assert "state.safetensors is damaged" in failure(capsys, "resume", str(copy))


def test_a_foreign_safetensors_file_is_refused(capsys, tmp_path):
    save_file({"weight": np.zeros(3, np.float32)}, tmp_path / "foreign.safetensors")
    assert "openteam did not write it" in failure(capsys, "evaluate", str(tmp_path / "foreign.safetensors"))


def test_a_file_that_is_no_checkpoint_is_refused(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    assert "no checkpoint at all" in failure(capsys, "evaluate", str(tmp_path / "notes.txt"))


def test_a_checkpoint_of_another_task_is_refused(capsys, trained):
    message = failure(capsys, "evaluate", str(trained), "--task", "lbf")
    assert "was trained on 'probe-constant' and cannot act in 'lbf'" in message


def test_an_unknown_split_lists_those_there_are(capsys, trained):
    assert "It has: train." in failure(capsys, "evaluate", str(trained), "--split", "lager")


def test_evaluating_no_episode_is_refused(capsys, trained):
    assert "at least 1 episode; got 0" in failure(capsys, "evaluate", str(trained), "--episodes", "0")


def test_a_read_only_folder_is_named(capsys, tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder = "/proc" if os.geteuid() == 0 else str(tmp_path)  # nothing else is read-only to root
    assert f"Cannot write to {folder}/x" in failure(capsys, "train", "lbf", "gpl-q", "--out", f"{folder}/x")


def test_a_folder_that_cannot_be_made_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "Cannot write to" in failure(capsys, "train", "lbf", "gpl-q", "--out", str(tmp_path / "file" / "x"))


def test_evaluate_prints_mean_interval_and_episodes(capsys, trained):
    assert run(["evaluate", str(trained), "--episodes", "16"]) == 0
    assert "probe-constant train: return 1.000 ± 0.000 (16 episodes)" in capsys.readouterr().out


def test_list_names_every_task_and_algorithm(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("lbf", "lbf-released", "probe-match", "gpl-q", "gpl-spi"))


def test_help_documents_every_field(capsys):
    with pytest.raises(SystemExit):
        run(["train", "lbf", "gpl-spi", "--help"])
    text = capsys.readouterr().out
    for flag in (
        "--task.world.size",
        "--task.openness.lifetime",
        "--algorithm.head.pairwise.rank",
        "--algorithm.control.temperature.last",
        "--import",
    ):
        assert flag in text
