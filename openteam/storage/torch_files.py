"""Arrays out of files that torch wrote, without torch and without running anything in them.

A file of torch is a pickle and raw numbers. A pickle can call any function it names, so the reader knows four names,
none of which does anything: an ordered dictionary, the description of a tensor, and two kinds of numbers. A pickle that
names anything else is refused. Both containers are read: the older one, five pickles in a row followed by the numbers,
and the newer one, a zip archive.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from openteam.errors import UserError

LARGEST = 64 * 2**20  # bytes; the files that this is for have at most 1.3 million
MOST_ITEMS = 100_000  # a small pickle can hold one list a billion times over
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
NUMBERS = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class Storage(NamedTuple):
    """A run of numbers in the file."""

    key: Any
    kind: Any
    count: Any


class Tensor(NamedTuple):
    """A part of a storage, as an array of some shape."""

    storage: Any
    offset: Any
    shape: Any
    strides: Any


class Entries(dict):
    """Stands for an ordered dictionary. Attributes that a pickle wants to set are dropped."""

    def __setstate__(self, state: object) -> None:
        del state


class Refused(Exception):
    """Why a file is not read."""


def read_torch(path: Path) -> Any:
    """The dictionaries, lists and arrays of a file; a ``UserError`` that names the file if it is anything else."""
    try:
        if path.stat().st_size > LARGEST:
            raise Refused(f"it has more than {LARGEST // 2**20} MB")
        content = path.read_bytes()
        tree, numbers = _read_zip(content) if content[:2] == b"PK" else _read_legacy(content)
        _tensors(tree)
        return _with_arrays(tree, numbers)
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None
    except Refused as error:
        raise UserError(f"{path} is not read: {error}.") from None
    except Exception as error:  # whatever damaged or hostile bytes make the reader stumble over
        raise UserError(
            f"{path} is damaged or no file of torch: {str(error).rstrip('.') or type(error).__name__}."
        ) from None


class _Reader(pickle.Unpickler):
    """Unpickles what needs only the four names, which stand for descriptions."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)

        def describe_tensor(storage: object, offset: object, shape: object, strides: object, *rest: object) -> Tensor:
            del rest  # whether it needs a gradient, and hooks
            return Tensor(storage, offset, shape, strides)

        self.known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): Entries,
            ("torch._utils", "_rebuild_tensor_v2"): describe_tensor,
        } | {("torch", name): name for name in NUMBERS}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise Refused(f"it names {module}.{name}, and only dictionaries and plain tensors are read")
        return self.known[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        if not (isinstance(pid, tuple) and len(pid) in (5, 6) and pid[0] == "storage" and (*pid, None)[5] is None):
            raise Refused("it refers to something that is no storage of numbers")
        _, kind, key, _device, count, *_ = pid
        return Storage(key, kind, count)


Numbers = Callable[[Storage], bytes]


def _read_legacy(content: bytes) -> tuple[Any, Numbers]:
    """The object, and the bytes of each storage: after the pickles, for each key a count and its numbers."""
    file = io.BytesIO(content)
    magic, protocol = (_Reader(file).load() for _ in range(2))
    if magic != LEGACY_MAGIC or protocol != LEGACY_PROTOCOL:
        raise Refused("it does not begin as a file of torch does")
    _Reader(file).load()  # about the machine
    tree = _Reader(file).load()
    kinds = {tensor.storage.key: tensor.storage.kind for tensor in _tensors(tree)}
    keys = _Reader(file).load()
    if not isinstance(keys, list) or set(keys) != set(kinds):
        raise Refused("its list of storages is not that of its tensors")
    found = {}
    for key in keys:
        count = int.from_bytes(_exactly(file, 8), "little", signed=True)
        found[key] = _exactly(file, count * np.dtype(_kind(kinds[key])).itemsize)
    return tree, lambda storage: found[storage.key]


def _read_zip(content: bytes) -> tuple[Any, Numbers]:
    """The object, and the bytes of each storage: members of the archive, which are not compressed."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
        raise Refused("its archive is compressed, which torch never does")
    inside = next((name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")), None)
    if inside is None:
        raise Refused("its archive is not one of torch")
    tree = _Reader(io.BytesIO(archive.read(inside))).load()
    return tree, lambda storage: archive.read(f"{inside.removesuffix('.pkl')}/{storage.key}")


def _exactly(file: io.BytesIO, size: int) -> bytes:
    content = file.read(size) if size >= 0 else b""
    if len(content) != size:
        raise Refused("it ends too early, or counts wrongly")
    return content


def _kind(kind: Any) -> str:
    if not isinstance(kind, str) or kind not in NUMBERS:
        raise Refused("it has a storage of an unknown kind of numbers")
    return NUMBERS[kind]


def _tensors(tree: Any) -> list[Tensor]:
    """All tensors of a tree, none too large, nor all of them together."""
    found, waiting, items = [], [tree], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            found.append(_checked(item))
        elif isinstance(item, (dict, list, tuple)):
            waiting.extend(item.values() if isinstance(item, dict) else item)
        items += 1
        if items + len(waiting) > MOST_ITEMS:
            raise Refused(f"it holds more than {MOST_ITEMS:,} things")
    if sum(math.prod(tensor.shape) for tensor in found) * 8 > LARGEST:
        raise Refused(f"its tensors have more than {LARGEST // 2**20} MB")
    return found


def _checked(tensor: Tensor) -> Tensor:
    """The same, if it is a contiguous piece of its storage."""
    storage, offset, shape, strides = tensor
    sizes = [offset, *shape, *strides] if isinstance(shape, tuple) and isinstance(strides, tuple) else [None]
    if not isinstance(storage, Storage) or not all(type(size) is int and 0 <= size <= LARGEST for size in sizes):
        raise Refused("it has a tensor without a proper shape")
    row_major = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    if strides != row_major:
        raise Refused(f"it has a tensor of shape {shape} that is not stored row by row")
    return tensor


def _with_arrays(tree: Any, numbers: Numbers) -> Any:
    """The tree with plain dictionaries, and an array for every tensor; anything else stays as it is."""
    if isinstance(tree, Tensor):
        storage, offset, shape, _ = _checked(tree)
        flat = np.frombuffer(numbers(storage), _kind(storage.kind))
        size = math.prod(shape)
        if len(flat) != storage.count or offset + size > len(flat):
            raise Refused(f"it has a tensor of shape {shape} that does not fit into its {len(flat)} numbers")
        return flat[offset : offset + size].reshape(shape).copy()
    if isinstance(tree, dict):
        return {name: _with_arrays(item, numbers) for name, item in tree.items()}
    return [_with_arrays(item, numbers) for item in tree] if isinstance(tree, (list, tuple)) else tree
