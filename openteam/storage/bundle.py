"""A run in one file to give away: a zip of data, never of code, believed only if every file in it is as it was packed.

``contents.json`` lists the digests of all others and holds its own. Names are those that a run can have, so nothing is
ever written outside the folder that it is unpacked to.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from openteam.errors import UserError
from openteam.storage.creation import PACKED
from openteam.storage.seal import read_bytes, sealed, unsealed
from openteam.storage.writing import write_atomic

SUFFIX = ".openteam.zip"
CONTENTS = "contents.json"
CARD, PICTURE = "MODEL_CARD.md", "picture.png"
ALLOWED = re.compile(r"(config|about)\.json|rows\.npz|MODEL_CARD\.md|picture\.png|checkpoints/[0-9]{1,20}\.safetensors")
"""What else there may be, besides copies of teammates."""
MOST_BYTES = 2**30
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # equal runs make equal files


def is_bundle(path: Path) -> bool:
    """Whether a path is that of a packed run, by its name or by how the file begins."""
    if path.name.endswith(SUFFIX):
        return True
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"PK\3\4"
    return False


def write_bundle(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files under their names, and their digests."""
    contents = sealed({"files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {CONTENTS: json.dumps(contents, indent=1).encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED)
    write_atomic(path, buffer.getvalue())


def read_bundle(path: Path) -> dict[str, bytes]:
    """All files of a packed run, each as it was packed; raises at anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise UserError(f"{path} would unpack to more than {MOST_BYTES:,} bytes and is not read.")
            for member in members:
                if not has_place(member.filename):
                    raise UserError(f"{path} is not read: '{member.filename[:80]}' has no place in a packed run.")
            files = {member.filename: archive.read(member) for member in members}
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{path} is damaged or no packed run: {error}. Get it again.") from None
    if len(files) != len(members):
        raise UserError(f"{path} is damaged: it holds a file twice. Get it again.")
    return check_digests(path, files)


def has_place(name: str) -> bool:
    """Whether a packed run can have a file of that name."""
    return name == CONTENTS or (any(known.fullmatch(name) for known in (ALLOWED, PACKED)) and ".." not in name)


def check_digests(path: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """The files but for their list, which must agree with them."""
    listed = unsealed(files.pop(CONTENTS, b""), path).get("files") if CONTENTS in files else None
    if listed != {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}:
        raise UserError(f"{path} is damaged, or openteam did not pack it: files do not match {CONTENTS}. Get it again.")
    return files


@contextlib.contextmanager
def unbundled(path: Path) -> Iterator[Path]:
    """A packed run as a run folder, for as long as it is read."""
    files = read_bundle(path)
    with tempfile.TemporaryDirectory(prefix="openteam-") as folder:
        for name, content in files.items():
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield Path(folder)
