"""Packed runs: what is in them, that they load like runs, and that anything else is refused."""

import contextlib
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

import openteam
from openteam.deploy.agent import Agent
from openteam.deploy.pack import pack
from openteam.errors import UserError
from openteam.storage.bundle import CONTENTS, read_bundle, write_bundle
from openteam.storage.checkpoint import tree_digest
from openteam.storage.run_folder import RunFolder
from openteam.storage.seal import sealed

TEAM, SHARED = {"me": [0, 1, 1], "ann": [2, 2, 2]}, [1, 2, 1]


@pytest.fixture(scope="module")
def packed(run_folder, tmp_path_factory):
    return pack(run_folder, tmp_path_factory.mktemp("packed") / "x.openteam.zip")


def test_a_packed_run_loads_like_the_run(packed, run_folder):
    assert tree_digest(openteam.load(packed)) == tree_digest(openteam.load(run_folder))
    assert Agent.load(packed).act(TEAM, SHARED) == Agent.load(run_folder).act(TEAM, SHARED)


def test_unzipped_it_is_a_run_with_its_results(packed, run_folder, tmp_path):
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    assert RunFolder(tmp_path).rows("episodes.jsonl") == RunFolder(run_folder).rows("episodes.jsonl")
    assert "command" not in RunFolder(tmp_path).about
    assert repr(openteam.Run.open(tmp_path)).endswith("step 100; return train 1.500 ± 0.980 (2 episodes))")


def test_it_holds_data_only_and_a_card(packed):
    files = read_bundle(packed)
    assert {name.rpartition(".")[2] for name in files} <= {"json", "safetensors", "npz", "md", "png"}
    card = files["MODEL_CARD.md"].decode()
    for part in ("# GPL on tiny", "seed 4", "| train | 1.500 | ± 0.980 | 2 | 8.0 |", "H1, H4", "](picture.png)",
                 "| level | 1 | 2 | 0 |", "up to 4 agents", "5 load", "counts as gone"):  # fmt: skip
        assert part in card, part
    assert files["picture.png"].startswith(b"\x89PNG")


def test_a_run_is_packed_the_same_way_twice(packed, run_folder, tmp_path):
    again = pack(run_folder, tmp_path / "y.openteam.zip")
    assert {k: v for k, v in read_bundle(again).items() if k != "rows.npz"} == {
        k: v for k, v in read_bundle(packed).items() if k != "rows.npz"
    }


@pytest.mark.parametrize("name", ["../evil.json", "/etc/evil.json", "policy.py", "checkpoints/../../x.safetensors",
                                  "teammates/x.pkl", "config.json/../x"])  # fmt: skip
def test_a_name_that_no_run_has_is_refused_and_nothing_is_written(packed, tmp_path, name):
    evil = tmp_path / "evil.openteam.zip"
    write_bundle(evil, read_bundle(packed) | {name: b"{}"})
    with pytest.raises(UserError, match="has no place in a packed run"):
        openteam.load(evil)
    assert [path.name for path in tmp_path.iterdir()] == ["evil.openteam.zip"]


def test_damage_is_noticed_wherever_it_is(packed, tmp_path):
    content, broken = packed.read_bytes(), tmp_path / "broken.openteam.zip"
    for place in np.linspace(0, len(content) - 1, 40).astype(int).tolist():
        broken.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with contextlib.suppress(UserError):
            assert read_bundle(broken) == read_bundle(packed)  # a byte that means nothing, such as a date
    for length in (0, 4, 100, len(content) // 2, len(content) - 1):
        broken.write_bytes(content[:length])
        with pytest.raises(UserError, match="damaged"):
            openteam.load(broken)


def test_edited_files_and_bombs_are_refused(packed, tmp_path, monkeypatch):
    files, odd = read_bundle(packed), tmp_path / "odd.openteam.zip"
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in (
            files | {"about.json": b"{}", CONTENTS: json.dumps(sealed({"files": digests})).encode()}
        ).items():
            archive.writestr(name, content)
    odd.write_bytes(buffer.getvalue())
    with pytest.raises(UserError, match=r"files do not match contents\.json"):
        openteam.load(odd)
    monkeypatch.setattr("openteam.storage.bundle.MOST_BYTES", 1000)
    with pytest.raises(UserError, match="more than 1,000 bytes"):
        openteam.load(packed)


def test_mistakes(packed, run_folder, tmp_path):
    with pytest.raises(UserError, match=r"ends in \.openteam\.zip; got 'x\.zip'"):
        pack(run_folder, tmp_path / "x.zip")
    with pytest.raises(UserError, match="already exists"):
        pack(run_folder, packed)
    with pytest.raises(UserError, match="is packed already"):
        pack(packed, tmp_path / "x.openteam.zip")
    with pytest.raises(UserError, match="there is no folder"):
        pack(run_folder, tmp_path / "nowhere" / "x.openteam.zip")
    with pytest.raises(UserError, match=r"Cannot read .*nowhere\.openteam\.zip"):
        openteam.load(tmp_path / "nowhere.openteam.zip")
