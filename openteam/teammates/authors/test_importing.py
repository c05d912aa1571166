"""What a copy of the authors' repositories must hold, and what happens if it does not."""

import io
import pickle
import shutil
import zipfile

import numpy as np
import pytest

from openteam.cli import run
from openteam.errors import UserError
from openteam.storage.imported import imported_path, is_imported
from openteam.teammates.authors.actor_critic import PublishedNavigators
from openteam.teammates.authors.importing import checked, find, import_agents
from openteam.teammates.authors.published import GROUPS, NETWORKS, used
from openteam.teammates.authors.store import read_group

GROUP = GROUPS["navigation"]


def network_file(rng) -> bytes:
    """A file of torch, by hand: every tensor is the call of one name with a storage, an offset, a shape and strides."""
    data, file = b"\x80\x02ccollections\nOrderedDict\n)R(", io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for key, (name, shape) in enumerate(NETWORKS["navigation"].items()):
            numbers = rng.normal(size=shape).astype("<f4")
            strides = (*shape[1:], 1)
            data += text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n("
            data += b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(str(key)) + text("cpu")
            data += whole(numbers.size) + b"tQ" + whole(0) + b"(" + b"".join(map(whole, shape)) + b"t"
            data += b"(" + b"".join(map(whole, strides)) + b"tI00\nNtR"
            archive.writestr(f"archive/data/{key}", numbers.tobytes())
        archive.writestr("archive/data.pkl", data + b"u.")
    return file.getvalue()


def text(word):
    return b"V" + word.encode() + b"\n"


def whole(number):
    return b"I%d\n" % number


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with made-up agents of navigation; the data folder is empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    rng = np.random.default_rng(0)
    for file in GROUP.files:
        path = tmp_path / "PO-GPL" / GROUP.folders[0] / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(network_file(rng))
    return tmp_path / "PO-GPL"


def test_agents_are_kept_as_they_are_in_the_files(clone):
    (one,) = import_agents(clone, accept_changed=True)
    assert (one.group, one.members, len(one.changed)) == ("navigation", GROUP.members, 10)
    assert one.path == imported_path("navigation")
    assert one.path.stat().st_mode & 0o077 == 0 or one.path.parent.stat().st_mode & 0o077 == 0
    assert [path.name for path in one.path.parent.iterdir()] == ["navigation.safetensors"]
    numbers = np.random.default_rng(0).normal(size=(96, 14)).astype("f4")
    np.testing.assert_array_equal(read_group("navigation", "")["a2c-0"]["network"]["layers.0.weight"], numbers)
    assert len(PublishedNavigators().digest) == 64
    assert PublishedNavigators(("a2c-0", "a2c-1")).digest != PublishedNavigators().digest


def test_files_other_than_the_published_ones_need_a_word(clone):
    with pytest.raises(UserError, match=r"agent_policy_0_9.*: not the published content.*--accept-changed"):
        import_agents(clone)
    assert not is_imported("navigation")


def test_published_files_are_recognised_under_any_name(tmp_path):
    file = GROUP.files[3]
    assert find(tmp_path, GROUP, {file.sha256: tmp_path / "any.pt"}) == {file.member: tmp_path / "any.pt"}


def test_a_copy_without_agents_or_with_some_missing_gets_a_sentence(clone, tmp_path):
    with pytest.raises(UserError, match="none of the published agents"):
        import_agents(tmp_path)
    with pytest.raises(UserError, match="There is no folder"):
        import_agents(tmp_path / "nowhere")
    (clone / GROUP.folders[0] / "agent_policy_4_9").unlink()
    with pytest.raises(UserError, match="lacks agent_policy_4_9"):
        import_agents(clone, accept_changed=True)


def test_a_bad_file_is_named_and_nothing_is_kept(clone):
    last = clone / GROUP.folders[0] / "agent_policy_9_9"
    for content, sentence in [
        (last.read_bytes()[:1000], "agent_policy_9_9 is damaged"),
        (pickle.dumps(print), "agent_policy_9_9 is not read: it names"),
    ]:
        last.write_bytes(content)
        with pytest.raises(UserError, match=sentence):
            import_agents(clone, accept_changed=True)
    assert not is_imported("navigation")
    assert not imported_path("navigation").parent.exists()


def test_a_network_of_other_shapes_or_numbers_is_refused(tmp_path):
    good = {name: np.zeros(shape, "f4") for name, shape in NETWORKS["mpnn"].items()}
    assert set(checked(tmp_path, good, "mpnn")) == set(used("mpnn"))
    assert not any("value_head" in name for name in used("mpnn"))
    for change, sentence in [
        ({"dist.linear.bias": np.zeros(9, "f4")}, r"'dist.linear.bias' has the shape \(9,\)"),
        ({"more": np.zeros(9, "f4")}, "'more' has .* no such array is expected"),
        ({"dist.linear.bias": np.full(8, np.nan, "f4")}, "not finite"),
        ({"dist.linear.bias": np.zeros(8)}, "not of 32 bits"),
        ({"dist.linear.bias": [0]}, "something else"),
    ]:
        with pytest.raises(UserError, match=sentence):
            checked(tmp_path, good | change, "mpnn")


def test_a_task_with_agents_that_were_not_imported_says_what_to_do(clone, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for line in ("train wolfpack-authors gpl-q --steps 9", "teammates list lbf-authors"):
        assert run(line.split()) == 2
        assert "have not been imported. Clone" in (said := capsys.readouterr().err)
        assert said.strip().endswith("then: openteam teammates import FOLDER.")
    run(["list", "tasks"])
    assert capsys.readouterr().out.count("Not imported yet: openteam teammates import FOLDER.") == 6
    assert run(["teammates", "import", str(clone), "--accept-changed"]) == 0
    said = capsys.readouterr().out
    assert "For navigation-partial-authors" in said
    assert said.count("is not the published file") == 10
    run(["list", "tasks"])
    assert capsys.readouterr().out.count("Not imported yet") == 5


def test_an_imported_file_that_is_damaged_is_not_believed(clone):
    import_agents(clone, accept_changed=True)
    path = imported_path("navigation")
    shutil.copy(path, imported_path("lbf"))
    with pytest.raises(UserError, match="does not hold the authors' agents of 'lbf'"):
        read_group("lbf", "")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="its numbers do not match its digest"):
        read_group("navigation", "")
