"""Names in configurations: ours by a table, other people's in modules that were imported, and nothing else."""

import json
import sys
import types

import equinox as eqx
import jax
import pytest

import openteam
from openteam.algorithms.presets import ALGORITHMS
from openteam.errors import UserError
from openteam.storage.classes import HOMES, class_of_name, name_of_class
from openteam.storage.config import from_json, to_json
from openteam.tasks import TASKS


class Window(eqx.Module):
    """Has the name of one of openteam's views."""

    size: int = eqx.field(static=True, default=3)

    class Frame(eqx.Module):
        width: int = eqx.field(static=True, default=1)


def class_names(config) -> set[str]:
    items = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    own = {config["class"]} if isinstance(config, dict) and "class" in config else set()
    return own.union(*map(class_names, items))


def test_every_class_of_the_table_is_found_and_gets_its_name_back():
    for name in HOMES:
        assert name_of_class(class_of_name(f"openteam:{name}")) == f"openteam:{name}"


@pytest.mark.usefixtures("authors_imported")
@pytest.mark.parametrize("build", [*TASKS.values(), *ALGORITHMS.values()], ids=[*TASKS, *ALGORITHMS])
def test_every_preset_is_made_of_classes_of_the_table_and_comes_back(build):
    value = build()
    config = json.loads(json.dumps(to_json(value)))
    assert {name.partition(":")[0] for name in class_names(config)} == {"openteam"}
    back = from_json(config)
    assert eqx.tree_equal(back, value)
    assert jax.tree.structure(back) == jax.tree.structure(value)


def test_a_class_with_the_name_of_one_of_ours_is_told_apart_by_its_module():
    mine, ours = to_json([Window(), Window.Frame()]), to_json(openteam.Window())
    assert [config["class"] for config in mine] == [f"{__name__}:Window", f"{__name__}:Window.Frame"]
    assert ours["class"] == "openteam:Window"
    assert from_json(mine) == (Window(), Window.Frame())
    assert isinstance(from_json(ours), openteam.Window)


def test_a_class_that_replaces_one_of_ours_does_not_get_its_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "my_views", types.SimpleNamespace(Window=Window))
    monkeypatch.setattr(Window, "__module__", "my_views")
    monkeypatch.setattr("openteam.views.Window", Window)
    assert to_json(Window())["class"] == "my_views:Window"


def test_a_class_that_claims_to_be_ours_is_refused(monkeypatch):
    monkeypatch.setattr(Window, "__module__", "openteam")
    with pytest.raises(UserError, match="claims the name openteam:Window, which only openteam's own classes have"):
        to_json(Window())


def test_two_classes_of_one_name_in_one_module_are_refused(monkeypatch):
    window = Window()
    monkeypatch.setattr(sys.modules[__name__], "Window", Window.Frame)
    with pytest.raises(UserError, match=r":Window is another class than the one that is used here"):
        to_json(window)


def test_a_class_that_a_resumed_run_could_not_find_is_refused_before_training(monkeypatch, tmp_path):
    class Local(eqx.Module):
        pass

    with pytest.raises(UserError, match=r"Local is defined inside a function.* Put it at the top level of a module"):
        to_json(Local())

    learner = eqx.tree_at(lambda learner: learner.control, openteam.GPL(), Window())
    monkeypatch.setattr(Window, "__module__", "__main__")
    with pytest.raises(UserError, match=r"Window is defined in the script that is being run"):
        openteam.train(openteam.make("probe-constant"), learner, steps=1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_modules_that_were_not_imported_are_named_all_at_once():
    config = {
        "class": "openteam:Split",
        "openness": {"class": "mazes.open:Doors"},
        "pool": [{"class": "walks:Walkers"}],
    }
    sentence = r"mazes\.open:Doors, walks:Walkers are used here.*add --import mazes\.open --import walks \(in Python"
    with pytest.raises(UserError, match=sentence):
        from_json(config)
    assert "walks" not in sys.modules


def test_a_module_that_could_be_imported_is_not(tmp_path, monkeypatch):
    (tmp_path / "unasked.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="add --import unasked"):
        from_json({"class": "unasked:Maze"})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("GPL", "'GPL', which this version of openteam does not have"),
        ("openteam:Nothing", "'openteam:Nothing', which this version of openteam does not have"),
        ("openteam:train", "'openteam:train', which this version of openteam does not have"),
        (f"{__name__}:Door", f"The module {__name__} has no 'Door'"),
        ("subprocess:Popen", "subprocess:Popen, which is no equinox module"),
        ("os:system", "os:system, which is no equinox module"),
        (3, "'3', which this version"),
    ],
)
def test_what_is_no_class_for_configurations_is_refused(name, sentence):
    with pytest.raises(UserError, match=sentence):
        from_json({"class": name})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hight": 3}, "openteam:Task does not fit this version: .*'hight'"),
        ({"horizon": "long"}, "openteam:Task does not fit this version: "),
        ({"world": 3}, "openteam:Task does not fit this version: "),
        ({"horizon": 0}, "horizon of at least 1 step; got 0"),
        ({"sha256": "0"}, "openteam:Task does not fit this version: .*'sha256'"),
    ],
)
def test_fields_that_do_not_fit_get_a_sentence(change, sentence):
    with pytest.raises(UserError, match=sentence):
        from_json(to_json(openteam.make("probe-constant")) | change)


def test_parts_that_name_shipped_weights_record_the_digest_of_their_numbers():
    config = to_json(openteam.make("wolfpack-evaders"))
    families = config["pool"]["families"]
    recorded = [config["world"]["behaviour"]["sha256"], families[1]["sha256"]]
    assert [len(digest) for digest in recorded] == [64, 64]
    assert "sha256" not in families[0]
    config["world"]["behaviour"]["sha256"] = "0" * 64
    with pytest.raises(UserError, match=r"numbers of openteam:LearnedPrey \(weights evasion, .* was 0{12} and is "):
        from_json(config)


def test_the_order_of_fields_means_nothing():
    config = to_json(openteam.make("probe-constant"))
    assert from_json(dict(reversed(config.items()))) == from_json(config)


def test_what_is_no_configuration_is_refused():
    with pytest.raises(UserError, match="numbers, words and equinox modules; got a SimpleNamespace"):
        to_json({"a": [types.SimpleNamespace()]})
