"""Run the server on this machine, with an address that nobody can guess, and open a browser at it."""

from __future__ import annotations

import logging
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass

from uvicorn import Config, Server

from openteam.errors import UserError
from openteam.viewer.guard import Guard
from openteam.viewer.messages import LONGEST
from openteam.viewer.server import Site

ADDRESS = "127.0.0.1"  # never another


@dataclass(frozen=True)
class Place:
    """Where the server listens, and the address of its first page."""

    listener: socket.socket
    token: str

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/{self.token}/"


def reserve(port: int = 0) -> Place:
    """Listen on a port of this machine, any free one by default, with a new token."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()  # a browser that comes before the server waits
    except (OSError, OverflowError) as error:
        listener.close()
        raise UserError(f"Port {port} cannot be used: {error}. Choose another, or leave out --port.") from None
    return Place(listener, secrets.token_urlsafe(16))


def serve(site: Site, place: Place, *, browser: bool, started: Callable[[], None] | None = None) -> None:
    """Answer until interrupted."""
    logging.basicConfig(format="openteam: %(message)s", stream=sys.stderr)
    print(f"Watch at {place.url}\nCtrl-C stops it.", flush=True)
    if browser:
        webbrowser.open(place.url)
    if started:
        started()
    server_of(site, place).run(sockets=[place.listener])


def server_of(site: Site, place: Place) -> Server:
    """The server, behind its guard. A message of up to twice the allowed length is still answered with a sentence."""
    app = Guard(site.application(), place.token, place.port)
    return Server(Config(app, log_level="warning", ws_max_size=2 * LONGEST, access_log=False, ws="websockets-sansio"))
