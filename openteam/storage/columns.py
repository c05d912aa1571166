"""Rows of a finished run as compressed columns: a thirtieth of their size, and numpy alone can read them.

``rows.npz`` holds an array for every field of every file of rows, such as ``episodes/return``. Where a field of a row
is null the number is nan, and ``train/return is null`` is true. ``seal`` is JSON: the tallies of the rows as they were
before, which checkpoints hold too, and a digest of all arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openteam.errors import UserError
from openteam.storage.rows import ROW_FILES, Tally, is_tallies
from openteam.storage.seal import read_bytes, sealed, unsealed

COLUMNS = "rows.npz"
SEAL = "seal"
NULL = " is null"
MOST_BYTES = 2**30
DTYPES = {int: np.dtype(np.int64), float: np.dtype(np.float64), str: np.dtype(np.str_)}

Rows = list[dict[str, Any]]
Columns = dict[str, np.ndarray]


def write_columns(rows: Mapping[str, Rows], tallies: Mapping[str, Tally]) -> bytes:
    """The content of ``rows.npz``; raises where rows have no common fields or a field no single type."""
    columns: Columns = {}
    for name, given in rows.items():
        columns |= to_columns(name, given)
    seal = sealed({"rows": dict(tallies), "columns": digest(columns)})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **columns, **{SEAL: np.array(json.dumps(seal))})
    return buffer.getvalue()


def read_columns(path: Path) -> tuple[dict[str, Rows], dict[str, Tally]]:
    """All rows, and the tallies of what they were made of; raises unless they are as they were written."""
    columns = load(path)
    if SEAL not in columns or columns[SEAL].dtype.kind != "U":
        raise UserError(f"{path} is damaged, or openteam did not write it: it has no {SEAL}.")
    seal = unsealed(str(columns.pop(SEAL)), path)
    if not is_tallies(seal.get("rows")) or seal.get("columns") != digest(columns):
        raise UserError(f"{path} is damaged or was edited: its columns do not match their digest.")
    return {name: to_rows(name, columns) for name in ROW_FILES}, seal["rows"]


def load(path: Path) -> Columns:
    """The arrays of a file of numpy's, or a sentence."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise UserError(f"{path} would unpack to more than {MOST_BYTES:,} bytes and is not read.")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, KeyError, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{path} is damaged: {error}.") from None
    except zipfile.BadZipFile as error:
        raise UserError(f"{path} is damaged: {error}.") from None


def digest(columns: Columns) -> str:
    """SHA-256 over names, types and numbers."""
    found = hashlib.sha256()
    for name, column in columns.items():
        found.update(f"{name} {column.dtype.str} {column.shape}\n".encode())
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()


def to_columns(name: str, rows: Rows) -> Columns:
    """A column for every field of a file's rows, which all have the same."""
    columns: Columns = {}
    for field in rows[0] if rows else ():
        if any(row.keys() != rows[0].keys() for row in rows):
            raise UserError(f"The rows of {name} cannot become columns: not all have the same fields.")
        values = [row[field] for row in rows]
        column = f"{prefix(name)}{field}"
        columns[column] = to_column(column, [value for value in values if value is not None], values)
        if None in values:
            columns[column + NULL] = np.array([value is None for value in values])
    return columns


def to_column(name: str, known: Sequence[Any], values: Sequence[Any]) -> np.ndarray:
    """One field of all rows: whole numbers, numbers or words."""
    kinds = {type(value) for value in known} or {float}
    if len(kinds) > 1 or not kinds <= DTYPES.keys() or (len(known) < len(values) and kinds != {float}):
        words = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UserError(f"The rows cannot become columns: {name} holds {words}, some of it perhaps null.")
    return np.array([np.nan if value is None else value for value in values], DTYPES[kinds.pop()])


def to_rows(name: str, columns: Columns) -> Rows:
    """The rows again, as Python's own numbers and words."""
    start = prefix(name)
    fields = [column.removeprefix(start) for column in columns if column.startswith(start)]
    fields = [field for field in fields if not field.endswith(NULL)]
    values = []
    for field in fields:
        column = columns[start + field].tolist()
        nulls = columns.get(start + field + NULL)
        values.append(column if nulls is None else [None if n else v for v, n in zip(column, nulls, strict=True)])
    return [dict(zip(fields, row, strict=True)) for row in zip(*values, strict=True)]


def prefix(name: str) -> str:
    """What the columns of a file of rows begin with."""
    return f"{Path(name).stem}/"
