"""One file with everything in it: the page, its modules, and the numbers of every frame."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

import openteam
from openteam.cli import run
from openteam.errors import UserError
from openteam.viewer import notebook
from openteam.viewer.export import as_html, record, recording_of
from openteam.viewer.page_files import page_files
from openteam.viewer.stage import SCHEMA


@pytest.fixture(scope="module")
def shown(runs):
    return openteam.show(runs[0], episodes=2, seed=4)


def unpacked(text):
    packed = re.search(r'id="recording">([^<]*)<', text).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_a_file_holds_every_frame_and_the_values_without_each_teammate(stage, shown):
    recording = unpacked(shown.text)
    assert recording["stage"]["schema"] == SCHEMA
    assert [episode["seed"] for episode in recording["episodes"]] == [4, 5]
    (episode,) = record(stage, 5, 1)
    frames = recording["episodes"][1]["frames"]
    for told, frame in zip(frames, episode.frames, strict=True):
        assert told == json.loads(json.dumps(frame)) | ({"without": told["without"]} if "why" in frame else {})
    assert frames[0]["without"] == {str(slot): values for slot, values in episode.without_each(0).items()}
    assert frames[0]["without"].keys() == {"1", "2"}


def test_a_file_needs_nothing_else(shown):
    addresses = set(re.findall(r"(?:https?|wss?|ftp):[^\s\"'`)]*", shown.text))
    modules = " ".join(page_files().values())
    assert addresses | set(re.findall(r"https?://[^\s\"'`)]*", modules)) <= {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r'(?:src|href)="([^"]*)"', shown.text)) <= {"data:,"}
    imported = set(re.findall(r'from "([^"]*)"', modules))
    listed = json.loads(re.search(r'importmap">(.*?)</script>', shown.text).group(1))["imports"]
    assert imported <= listed.keys()
    assert all(address.startswith("data:text/javascript;base64,") for address in listed.values())


def test_names_are_text_and_never_tags(shown, runs):
    assert "<img" in str(runs[0])
    assert "<img" not in shown.text
    assert "&lt;img src=x onerror=boom()&gt;" in shown.text


def test_a_notebook_shows_the_same_file(shown, tmp_path):
    path = shown.write(tmp_path / "new" / "x.html")
    assert path.read_text() == shown.text
    assert shown._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_the_command_writes_the_file(shown, runs, tmp_path, capsys):
    out = tmp_path / "x.html"
    assert run(["watch", str(runs[0]), "--export", str(out), "--episodes", "2", "--seed", "4"]) == 0
    assert out.read_text() == shown.text
    assert "2 episodes" in capsys.readouterr().out


def test_a_file_too_large_to_share_is_a_mistake(runs, monkeypatch):
    monkeypatch.setattr(notebook, "LARGEST", 1000)
    with pytest.raises(UserError, match="Record fewer than 1 episodes"):
        openteam.show(runs[0])


def test_the_same_episodes_are_the_same_file(stage, shown):
    recording = unpacked(shown.text)
    assert as_html(recording) == shown.text
    assert recording_of(stage, [])["episodes"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere"),
        (["lbf", "--split", "nowhere"], "nowhere"),
        (["lbf", "--port", "70000"], "65,535"),
        (["lbf", "--export", "x.gif"], ".html"),
        (["lbf", "--against", "RUN"], "two runs"),
        (["RUNS", "--export", "x.html"], "several runs"),
        (["RUN", "--against", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(runs, capsys, words, says):
    places = {"RUN": str(runs[0]), "RUNS": str(Path(runs[0]).parent)}
    assert run(["watch", *(places.get(word, word) for word in words)]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
