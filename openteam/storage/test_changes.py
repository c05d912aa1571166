import pytest

from openteam.errors import UserError
from openteam.storage.changes import describe, differences, with_change

REFERENCE = {"class": "GPL", "envs": 16, "rate": 0.1, "rule": {"class": "Q", "epsilon": {"class": "S", "last": 0.05}},
             "sizes": [1, 2], "clip": None, "masked": False}  # fmt: skip


def test_equal_configurations_have_no_differences():
    assert differences(REFERENCE, REFERENCE) == {}


def test_differences_are_named_by_dots_down_to_the_field():
    changed = REFERENCE | {"envs": 64, "rule": {"class": "Q", "epsilon": {"class": "S", "last": 0.1}}, "sizes": [1, 3]}
    assert differences(changed, REFERENCE) == {"envs": 64, "rule.epsilon.last": 0.1, "sizes.1": 3}


def test_another_class_is_one_difference_and_another_length_of_a_list_too():
    changed = REFERENCE | {"rule": {"class": "Soft", "tau": 1}, "sizes": [1]}
    assert describe(differences(changed, REFERENCE)) == "rule Soft, sizes 1"


def test_a_field_that_is_newer_than_the_configuration_is_no_difference_but_one_that_is_gone_is():
    assert differences({"class": "GPL", "envs": 16, "gone": 3}, REFERENCE) == {"gone": 3}


def test_a_changed_configuration_differs_in_exactly_that_field():
    for name, value in (("envs", 64), ("rule.epsilon.last", 0.2), ("sizes.0", 7), ("clip", 0.5), ("masked", True)):
        assert differences(with_change(REFERENCE, name, value), REFERENCE) == {name: value}


def test_a_whole_number_written_as_a_float_stays_whole():
    changed = with_change(REFERENCE, "envs", 6.4e1)
    assert changed["envs"] == 64
    assert isinstance(changed["envs"], int)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("evns", 1, "Did you mean 'envs'"),
        ("rule.epsilon.lats", 1, "Did you mean 'last'"),
        ("envs.deeper", 1, "It has no parts"),
        ("rule", "Soft", "Set one of rule.epsilon"),
        ("envs", 1.5, "is 16 by default and cannot be 1.5"),
        ("rate", "high", "cannot be 'high'"),
        ("masked", 1, "is False by default and cannot be 1"),
    ],
)
def test_a_wrong_change_gets_a_sentence(name, value, sentence):
    with pytest.raises(UserError, match=sentence):
        with_change(REFERENCE, name, value)


def test_classes_of_ours_and_digests_are_shown_in_short():
    changes = {"rule": {"class": "openteam:QLearning"}, "world": {"class": "my_worlds:Maze"}, "sha256": 64 * "a"}
    assert describe(changes) == "rule QLearning, world my_worlds:Maze, sha256 aaaaaaaaaaaa"


def test_a_digest_is_no_setting_and_does_not_outlive_what_it_was_of():
    config = {"class": "openteam:Learned", "weights": "lbf", "names": ["ac"], "sha256": "abc"}
    assert with_change(config, "names", ["ac-12x12"]) == {
        "class": "openteam:Learned",
        "weights": "lbf",
        "names": ["ac-12x12"],
    }
    with pytest.raises(UserError, match="There is no setting 'sha256'"):
        with_change(config, "sha256", "def")
