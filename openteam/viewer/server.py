"""The local server: pages, a gallery, and a socket for each page.

It imports no JAX: it answers within a second, and what needs JAX is loaded behind it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from openteam.errors import UserError
from openteam.viewer.guard import HEADERS, policy_of
from openteam.viewer.messages import LONGEST, read_message
from openteam.viewer.page_files import page_files, served_page

MOST_PAGES = 8  # at once
KINDS = {"js": "text/javascript", "css": "text/css"}
log = logging.getLogger("openteam.viewer")

Answers = Iterator[dict[str, Any]]
Answer = Callable[[dict[str, Any]], Answers]
Open = Callable[[dict[str, str], Callable[[str], None]], tuple[dict[str, Any], Answer]]
"""From what an address asks for, and who is told what is being done, to a description and who answers."""


@dataclass
class Site:
    """Everything that can be asked for over HTTP and sockets."""

    open: Open
    gallery: Callable[[], dict[str, Any]] | None = None
    pages: set[WebSocket] = field(default_factory=set)

    def application(self) -> Starlette:
        routes = [
            Route("/", self.first),
            Route("/watch", self.watch),
            Route("/gallery", self.show_gallery),
            Route("/gallery.json", self.curves),
            Route("/page/{name}", self.part),
            WebSocketRoute("/socket", self.socket),
        ]
        return Starlette(routes=routes)

    async def first(self, request: Request) -> Response:
        return RedirectResponse("gallery" if self.gallery else f"watch?{request.url.query}", headers=HEADERS)

    async def watch(self, request: Request) -> Response:
        return html("watch.html")

    async def show_gallery(self, request: Request) -> Response:
        return html("gallery.html") if self.gallery else nothing()

    async def curves(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.gallery), headers=HEADERS) if self.gallery else nothing()

    async def part(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = KINDS.get(name.rpartition(".")[2])
        if kind is None or name not in page_files():
            return nothing()
        return Response(page_files()[name], media_type=kind, headers=HEADERS)

    async def socket(self, websocket: WebSocket) -> None:
        if len(self.pages) >= MOST_PAGES:
            await websocket.close(1013, f"At most {MOST_PAGES} pages at once: close one.")
            return
        self.pages.add(websocket)
        try:
            await websocket.accept()
            await converse(websocket, self.open)
        except WebSocketDisconnect:  # the page was closed while it was answered
            pass
        finally:
            self.pages.discard(websocket)


def html(name: str) -> Response:
    """A page with the rules that it runs under."""
    text, digest = served_page(name)
    return Response(text, media_type="text/html", headers=policy_of([digest]))


def nothing() -> Response:
    """The answer to any other address."""
    return PlainTextResponse("There is nothing here.\n", 404, headers=HEADERS)


async def converse(websocket: WebSocket, open_session: Open) -> None:
    """Open what the page wants to watch, telling it what takes so long, then answer its messages one by one."""
    loop = asyncio.get_running_loop()

    def tell(state: str) -> None:
        asyncio.run_coroutine_threadsafe(send(websocket, {"state": state}), loop)

    try:
        stage, answer = await run_in_threadpool(open_session, dict(websocket.query_params), tell)
    except Exception as error:
        await send(websocket, {"failed": sentence(error)})
        return
    await send(websocket, {"stage": stage})
    while True:
        received = await websocket.receive()
        if received["type"] == "websocket.disconnect":
            return
        await reply(websocket, answer, received.get("text") or received.get("bytes") or "")


async def reply(websocket: WebSocket, answer: Answer, text: str | bytes) -> None:
    """Send all answers to a message, each with its number, as soon as it is there; at last that it was the last."""
    number = None
    try:
        if len(text) > LONGEST:
            raise UserError(f"A message has at most {LONGEST} bytes; got {len(text)}.")
        message = read_message(text)
        number = message.get("id") if isinstance(message.get("id"), int) else None
        answers = answer(message)
        while (one := await run_in_threadpool(next, answers, None)) is not None:
            await send(websocket, {"id": number, **one})
    except WebSocketDisconnect:
        raise
    except Exception as error:
        await send(websocket, {"id": number, "error": sentence(error)})
    else:
        await send(websocket, {"id": number, "end": True})


async def send(websocket: WebSocket, message: dict[str, Any]) -> None:
    """A message to a page. Raises a ``WebSocketDisconnect`` if it is not there any more."""
    text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    try:
        await websocket.send_text(text)
    except RuntimeError:  # it was closed before
        raise WebSocketDisconnect from None


def sentence(error: Exception) -> str:
    """What a page is told of an error; all of one that is no user's mistake goes to the log."""
    if isinstance(error, UserError):
        return str(error)
    log.error("A page asked for something that failed.", exc_info=error)
    return f"That failed: {type(error).__name__}. The terminal says more."
