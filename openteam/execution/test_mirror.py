"""A run that is trained elsewhere: what it writes comes back whole and in order."""

from pathlib import Path

import pytest

from openteam.errors import UserError
from openteam.execution.mirror import Change, Mirror, apply, unpack
from openteam.storage.lock import Terms, alone_in, claim
from openteam.storage.writing import unchecked, write_atomic

FILES = {"config.json": b"{}", "train.jsonl": b'{"step": 1}\n', "checkpoints/000000000000.safetensors": b"first"}


def both(tmp_path) -> tuple[Path, Path]:
    for name in ("near", "far"):
        unpack(FILES, tmp_path / name)
    return tmp_path / "near", tmp_path / "far"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_that_is_written_comes_back_rows_first_and_the_state_last(tmp_path):
    near, far = both(tmp_path)
    mirror = Mirror(far)
    assert mirror.changes() == []
    write_atomic(far / "state.safetensors", b"state")
    write_atomic(far / "checkpoints/000000000008.safetensors", b"policy")
    for name in ("train.jsonl", "episodes.jsonl"):
        with (far / name).open("ab") as file:
            file.write(b'{"step": 8}\n')
    changes = mirror.changes()
    assert [change.name for change in changes] == [
        "train.jsonl", "episodes.jsonl", "checkpoints/000000000008.safetensors", "state.safetensors",
    ]  # fmt: skip
    assert changes[0] == Change("train.jsonl", 12, b'{"step": 8}\n')
    apply(changes, near, unchecked)
    assert content(near) == content(far)
    write_atomic(far / "state.safetensors", b"state")  # the same bytes, written anew
    assert [change.name for change in mirror.changes()] == ["state.safetensors"]
    assert mirror.changes() == []


def test_what_comes_back_to_a_run_that_is_no_longer_ours_is_not_written(tmp_path):
    near, far = both(tmp_path)
    mirror = Mirror(far)
    write_atomic(far / "state.safetensors", b"state")
    writer = claim(near, Terms())
    with alone_in(near, Terms(stale=(writer.lease,))):
        before = content(near)
        for changes in (mirror.changes(), [Change("train.jsonl", 12, b"x")]):
            with pytest.raises(UserError, match="was taken over"):
                apply(changes, near, writer.check)
        assert content(near) == before
    writer.close()


@pytest.mark.parametrize(
    "name", ["../x", "config.json", "checkpoints/../../x.safetensors", "/etc/x", "lease-000001.json"]
)
def test_nothing_else_is_written_because_another_machine_says_so(tmp_path, name):
    near, _ = both(tmp_path)
    with pytest.raises(UserError, match="which is no file that a run writes"):
        apply([Change(name, None, b"x")], near, unchecked)
    with pytest.raises(UserError, match="has 12 bytes, but rows came for after 7"):
        apply([Change("train.jsonl", 7, b"x")], near, unchecked)
