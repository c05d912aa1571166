"""Files of torch: both containers are read, and nothing but dictionaries, lists and tensors."""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from openteam.errors import UserError
from openteam.storage.torch_files import read_torch

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
ARRAYS = OrderedDict(weight=np.arange(6, dtype=np.float32).reshape(2, 3), count=np.array(7), bias=np.ones(2, "f4"))


@pytest.fixture
def torch(monkeypatch):
    """What a pickle of torch names, and nothing that works."""
    names = {"torch": ("FloatStorage", "LongStorage"), "torch._utils": ("_rebuild_tensor_v2",)}
    for module, members in names.items():
        fake = types.ModuleType(module)
        for name in members:
            setattr(fake, name, type(name, (), {"__module__": module}))
        monkeypatch.setitem(sys.modules, module, fake)
    return types.SimpleNamespace(numbers=sys.modules["torch"], utils=sys.modules["torch._utils"])


class Stored:
    def __init__(self, key, array):
        self.key, self.array = key, array


class Writer(pickle.Pickler):
    """Pickles arrays as torch does tensors."""

    def __init__(self, file, torch, pid_end):
        super().__init__(file, protocol=2)
        self.torch, self.pid_end, self.stored = torch, pid_end, []

    def reducer_override(self, value):
        if not isinstance(value, np.ndarray):
            return NotImplemented
        self.stored.append(Stored(str(len(self.stored)), value))
        strides = tuple(step // value.itemsize for step in value.strides)
        return self.torch.utils._rebuild_tensor_v2, (self.stored[-1], 0, value.shape, strides, False, OrderedDict())

    def persistent_id(self, value):
        if not isinstance(value, Stored):
            return None
        kind = self.torch.numbers.LongStorage if value.array.dtype == np.int64 else self.torch.numbers.FloatStorage
        return ("storage", kind, value.key, "cuda:0", value.array.size, *self.pid_end)


def legacy(tree, torch):
    file = io.BytesIO()
    for part in (MAGIC, PROTOCOL, {"little_endian": True}):
        pickle.dump(part, file, 2)
    writer = Writer(file, torch, (None,))
    writer.dump(tree)
    pickle.dump([one.key for one in writer.stored], file, 2)
    for one in writer.stored:
        file.write(one.array.size.to_bytes(8, "little") + one.array.tobytes())
    return file.getvalue()


def zipped(tree, torch, compression=zipfile.ZIP_STORED):
    file, data = io.BytesIO(), io.BytesIO()
    writer = Writer(data, torch, ())
    writer.dump(tree)
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        for one in writer.stored:
            archive.writestr(f"archive/data/{one.key}", one.array.tobytes())
    return file.getvalue()


def read(tmp_path, content):
    path = tmp_path / "network.pt"
    path.write_bytes(content)
    return read_torch(path)


@pytest.mark.parametrize("container", [legacy, zipped])
def test_both_containers_are_read(container, torch, tmp_path):
    tree = {"models": [ARRAYS, OrderedDict(a=np.zeros((4, 1, 3), "f4"))], "rms": (None, None), "step": 3}
    found = read(tmp_path, container(tree, torch))
    assert (found["rms"], found["step"]) == ([None, None], 3)
    assert list(found["models"][0]) == ["weight", "count", "bias"]
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found["models"][0][name], array)
        assert found["models"][0][name].dtype == array.dtype
    assert found["models"][1]["a"].shape == (4, 1, 3)


class Calls:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("container", [legacy, zipped])
def test_a_file_that_would_run_something_is_refused_and_runs_nothing(container, torch, tmp_path):
    made = tmp_path / "made"
    for bad, name in [
        (Calls(open, str(made), "w"), "open"),
        (Calls(exec, f"open({str(made)!r}, 'w')"), "exec"),
        (Calls(pickle.loads, b""), "loads"),
    ]:
        with pytest.raises(UserError, match=rf"network\.pt is not read: it names \w+\.{name}, and only"):
            read(tmp_path, container({"weight": bad}, torch))
    assert not made.exists()


def test_a_hostile_pickle_changes_nothing_for_the_next_file(torch, tmp_path):
    before = read(tmp_path, legacy(ARRAYS, torch))
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n"
    dictionary = b"ccollections\nOrderedDict\n"
    heads = b"".join(pickle.dumps(part, 2) for part in (MAGIC, PROTOCOL, {}))
    for target in (rebuild, dictionary):
        attack = b"\x80\x02" + target + b"(N}(V__call__\nI1\nV__defaults__\nNutb."
        with pytest.raises(UserError, match=r"network\.pt is"):
            read(tmp_path, heads + attack)
    after = read(tmp_path, legacy(ARRAYS, torch))
    np.testing.assert_array_equal(before["weight"], after["weight"])


@pytest.mark.parametrize("container", [legacy, zipped])
def test_a_file_that_was_cut_off_gets_a_sentence(container, torch, tmp_path):
    content = container(ARRAYS, torch)
    for size in (0, 1, 10, len(content) // 2, len(content) - 1):
        with pytest.raises(UserError, match=r"network\.pt is (damaged|not read)"):
            read(tmp_path, content[:size])


def test_what_is_no_file_of_torch_gets_a_sentence(torch, tmp_path):
    for content in (b"version https://git-lfs.github.com/spec/v1\n", pickle.dumps(MAGIC), pickle.dumps({"a": 1})):
        with pytest.raises(UserError, match=r"network\.pt is (damaged|not read)"):
            read(tmp_path, content)
    with pytest.raises(UserError, match="Cannot read"):
        read_torch(tmp_path / "nothing.pt")


def test_tensors_that_do_not_fit_their_numbers_are_refused(torch, tmp_path):
    for old, new in ((b"K\x02K\x03\x86", b"K\x03K\x03\x86"), (b"K\x03K\x01\x86", b"K\x01K\x02\x86")):
        content = legacy({"weight": ARRAYS["weight"]}, torch)
        assert content.count(old) == 1
        with pytest.raises(UserError, match="it has a tensor of shape"):
            read(tmp_path, content.replace(old, new))
    with pytest.raises(UserError, match="its archive is compressed"):
        read(tmp_path, zipped(ARRAYS, torch, zipfile.ZIP_DEFLATED))


def test_a_small_file_that_unfolds_to_a_large_one_is_refused(torch, tmp_path):
    tree = [np.zeros(8, "f4")]
    for _ in range(40):
        tree = [tree, tree]
    with pytest.raises(UserError, match="more than 100,000 things"):
        read(tmp_path, zipped(tree, torch))
