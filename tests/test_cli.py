"""What a user may get wrong: one sentence, exit code 2, nothing lost."""

import os
import re
import shutil
import stat

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from openteam.cli import run

SMALL = {"envs": 2, "update-every": 2, "minibatches": 1, "epochs": 1, "network.width": 4}
FLAGS = [word for name, value in SMALL.items() for word in (f"--algorithm.{name}", str(value))]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of what compiles quickly, begun where there are no others to forecast its time from."""
    home = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        words = ["--steps", "64", "--evaluation-episodes", "4", "--out", "run"]
        assert run(["train", "probe-constant", "ppo", *FLAGS, *words]) == 0
    return home / "run"


def failure(capsys, *words: str) -> str:
    """The one sentence that these words earn."""
    code = run(list(words))
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
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "-5"], "steps must be at least 1; got -5"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "ten"], "'ten' is no whole number"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "inf"], "'inf' is no whole number"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "nan"], "'nan' is no whole number"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "1e30"], "steps must be at most 2,147,483,647; got 1e+30"),
        (["train", "lbf", "gpl-q", "--out", "x", "--steps", "9" * 999], "got hundreds of digits"),
        (["train", "lbf", "gpl-q", "--out", "x", "--seed", str(2**63)], "seed must be at most 4,294,967,295"),
        (["train", "lbf", "gpl-q", "--out", "x", "--seed", "-1"], "seed must be at least 0; got -1"),
        (["train", "lbf", "gpl-q", "--out", "x", "--seed", str(2**32 - 1), "--seeds", "2"], "the last seed must be"),
        (["train", "lbf", "gpl-q", "--out", "x", "--evaluation-episodes", "1e30"], "must be at most 1,000,000"),
        (["train", "lbf", "gpl-q", "--out", "x", "--log", "wandb"], "pip install 'openteam[wandb]'"),
        (["train", "lbf", "gpl-q", "--out", "x", "--teammates", "nowhere"], "no checkpoint at nowhere"),
        (
            ["train", "lbf", "--out", "x"],
            "The algorithm is missing, as in: openteam train lbf gpl-q. Algorithms: gpl-q",
        ),
        (["train", "gpl-q", "--out", "x"], "'gpl-q' is an algorithm; the task comes first"),
        (["train", "lbf", "gpl-q", "dgn", "--out", "x"], "'dgn' is too much"),
        (["train", "lbf", "gpl-q", "--out", "x", "--envs", "8"], "Did you mean --algorithm.envs?"),
        (["train", "lbf", "gpl-q", "--out", "x", "--algorithm.envs", "8.5"], "--algorithm.envs must be a whole number"),
        (["train", "lbf", "gpl-q", "--out", "x", "--algorithm.envs"], "--algorithm.envs needs a value"),
        (["train", "lbf", "gpl-q", "--out", "x", "--algorithm.discount=high"], "--algorithm.discount must be a number"),
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
        (["record", "my_worlds:maze", "--out", "x.gif"], "add --import my_worlds"),
        (["record", "lbf", "--out", "x.avi"], "written as .gif, .mp4, .png; got 'x.avi'"),
        (["record", "lbf", "--out", "x.gif", "--steps", "-1"], "--steps must be at least 1; got -1"),
        (["record", "lbf", "--out", "x.gif", "--episodes", "1e9"], "--episodes must be at most 1,000,000"),
        (["record", "lbf", "--out", "x.gif", "--policy", "H9"], "one of: H1, H2"),
        (["record", "lbf", "--out", "x.gif", "--split", "lager"], "Did you mean 'larger'?"),
        (["record", "probe-lamp", "--out", "x.gif"], "cannot be drawn"),
        (["evaluate", "nowhere"], "no checkpoint at nowhere"),
        (["evaluate", ".", "--episodes", "inf"], "'inf' is no whole number"),
        (["evaluate", "."], ". is not a run: it has no config.json"),
        (["compare", "nowhere"], "no run at nowhere"),
        (["beliefs", "nowhere"], "no run at nowhere"),
        (["plan", "nowhere.toml"], "there is no such file"),
        (["teammates"], "needs one of train, clone, add"),
        (["teammates", "clone", "lbf", "--type", "H9", "--name", "x"], "has no type 'H9': H1, H2"),
        (["bench", "--tasks", "lfb"], "Did you mean 'lbf'?"),
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
    assert "--episodes must be at least 1; got 0" in failure(capsys, "evaluate", str(trained), "--episodes", "0")


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


def test_help_shows_the_settings_that_people_change_first(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["train", "lbf", "gpl-spi", "--help"]) == 0
    text = capsys.readouterr().out
    flags = set(re.findall(r"^. (--[\w.-]+)", text, re.MULTILINE))
    assert flags == {
        "--out", "--steps", "--seed", "--seeds", "--checkpoint-every", "--evaluation-episodes", "--teammates", "--log",
        "--import", "--compressed-from", "--algorithm.learning-rate", "--algorithm.envs", "--learner", "--devices",
        "--coordinator", "--processes", "--process",
    }  # fmt: skip
    assert "openteam train lbf gpl-spi --help-all" in text
    assert len(text.splitlines()) < 45


def test_help_shows_the_settings_of_a_users_algorithm_and_not_those_of_another(capsys):
    """Here one whose step size is a schedule, not a number."""
    module = "openteam.algorithms.ppo"
    assert run(["train", "lbf", f"{module}:PPO", "--import", module, "--help"]) == 0
    text = capsys.readouterr().out
    assert "--algorithm.envs" in text
    assert "--algorithm.learning-rate" not in text


def test_all_help_documents_every_field_and_no_comment(capsys):
    assert run(["train", "lbf", "gpl-spi", "--help-all"]) == 0
    text = capsys.readouterr().out
    assert "fmt:" not in text
    for flag in (
        "--steps",
        "--import",
        "--task.world.size",
        "--task.openness.lifetime",
        "--algorithm.head.pairwise.rank",
        "--algorithm.control.temperature.last",
    ):
        assert flag in text


@pytest.mark.parametrize("words", [["teammates", "--help"], ["teammates", "train", "--help"], ["train", "--help"]])
def test_asking_for_help_is_no_mistake(capsys, words):
    assert run(words) == 0
    assert "openteam" in capsys.readouterr().out


def test_version_says_what_a_report_needs(capsys):
    assert run(["--version"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("openteam 0.1", f"jax {jax.__version__}", "Python 3."))
