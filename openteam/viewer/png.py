"""A picture as a data address, for worlds that the page cannot draw itself."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def data_address(picture: UInt8[np.ndarray, "height width 3"]) -> str:
    """The picture as a PNG in an address that a page can show."""
    height, width, _ = picture.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, three colours
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], 1)  # 0: no filter
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    png = SIGNATURE + b"".join(chunk(name, content) for name, content in parts)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def chunk(name: bytes, content: bytes) -> bytes:
    """A part of a PNG file with its length and checksum."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
