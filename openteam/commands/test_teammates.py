"""From joint training to a teammate type that is listed and checked, on a probe."""

import dataclasses
import shutil

import pytest

import openteam
from openteam.commands.teammates import parse
from openteam.errors import UserError
from openteam.storage.run_folder import RunFolder
from openteam.teammates.learned import Learned
from openteam.teammates.weights_file import Weights

SMALL = [
    "--algorithm.envs",
    8,
    "--algorithm.update-every",
    8,
    "--algorithm.minibatches",
    2,
    "--algorithm.network.width",
    8,
]


def teammates(*words):
    parse([str(word) for word in words])()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run folder and a file with one member."""
    folder = tmp_path_factory.mktemp("made")
    teammates(
        "train", "probe-own-action", "--name", "last", "--steps", 4096, "--checkpoint-every", 2048, "--seed", 3,
        "--out", folder / "run", "--weights", folder / "w.safetensors", "--algorithm.learning-rate.first", 0.01, *SMALL,
    )  # fmt: skip
    return folder


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def test_a_trained_member_knows_where_it_comes_from_and_how_good_it_is(made):
    (member,) = Weights.read(made / "w.safetensors").members
    assert (member.name, member.seed, member.steps) == ("last", 3, 4096)
    assert member.skill.task == "probe-own-action"
    assert member.skill.low <= member.skill.mean <= member.skill.high
    assert member.skill.mean > 0.9


def test_a_checkpoint_along_the_way_can_be_a_member_too(copy):
    steps = [int(path.stem) for path in RunFolder.open(copy / "run").checkpoints]
    assert steps == [0, 2048, 4096]
    teammates("add", copy / "run", "--checkpoint", 0, "--name", "untrained", "--weights", copy / "w.safetensors")
    first, second = Weights.read(copy / "w.safetensors").members
    assert second.steps == 0
    assert 0.4 < second.skill.mean < 0.6 < first.skill.mean


def test_a_member_plays_in_a_pool(made):
    task = openteam.make("probe-teammate-joins")
    pool = openteam.Pool((*task.pool.families, Learned(str(made / "w.safetensors"))))
    assert pool.names == ("always-0", "always-1", "last")
    openteam.evaluate(openteam.UniformRandom(), dataclasses.replace(task, pool=pool), episodes=4)


def test_a_check_passes_as_long_as_the_skill_is_as_recorded(copy, capsys):
    teammates("check", copy / "w.safetensors")
    assert "last scores" in capsys.readouterr().out
    file = Weights.read(copy / "w.safetensors")
    (honest,) = file.members
    boast = dataclasses.replace(honest, skill=dataclasses.replace(honest.skill, low=2.0, high=3.0))
    dataclasses.replace(file, members=(boast,)).write(copy / "w.safetensors")
    with pytest.raises(UserError, match=r"last of .*w\.safetensors scores .* outside 2\.0 to 3\.0"):
        teammates("check", copy / "w.safetensors")
    teammates("check", copy / "w.safetensors", "--record")
    teammates("check", copy / "w.safetensors")


def test_a_check_fails_when_weights_are_missing_or_damaged(copy):
    with pytest.raises(UserError, match="no learned teammates at"):
        teammates("check", copy / "nothing.safetensors")
    path = copy / "w.safetensors"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="damaged"):
        teammates("check", path)


def test_a_clone_does_what_the_type_does(tmp_path):
    teammates(
        "clone", "probe-own-action", "--type", "always-1", "--name", "clone", "--steps", 40_000,
        "--out", tmp_path / "run", "--weights", tmp_path / "w.safetensors",
    )  # fmt: skip
    (member,) = Weights.read(tmp_path / "w.safetensors").members
    assert member.skill.mean > 0.9
    assert member.sentence == "A network that learned to do what always-1 does."


def test_only_types_of_the_pool_can_be_cloned(tmp_path):
    with pytest.raises(UserError, match=r"'probe-constant' has no type 'H9': always-0, always-1"):
        teammates("clone", "probe-constant", "--type", "H9", "--name", "x", "--out", tmp_path / "run")


def test_types_are_listed_with_their_skills(capsys):
    teammates("list", "probe-own-action", "--episodes", "16")
    text = capsys.readouterr().out
    assert "always-0" in text
    assert "1.00 ± 0.00" in text


def test_an_unknown_subcommand_lists_those_there_are():
    with pytest.raises(UserError, match="one of train, clone, add, import, list, check"):
        parse(["tarin"])
