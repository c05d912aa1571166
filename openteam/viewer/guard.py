"""Who may talk to the server: pages of its own, with its token, on this machine."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HERE = ("127.0.0.1", "localhost")
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses a request with a foreign Host or Origin, or without the token as the first part of its path."""

    def __init__(self, app: ASGIApp, token: str, port: int):
        self.app = app
        self.token = token
        self.hosts = {f"{name}:{port}" for name in HERE}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        inside = self.without_token(scope)
        if not self.allows(Headers(scope=scope), scope["type"]) or inside is None:
            await refuse(scope, receive, send)
            return
        await self.app({**scope, "path": inside, "raw_path": inside.encode()}, receive, send)

    def allows(self, headers: Headers, kind: str) -> bool:
        """Whether a request came by the right name, and from a page that did. A page always says so to a socket."""
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return False
        origins = headers.getlist("origin")
        if not origins:
            return kind == "http"
        return len(origins) == 1 and origins[0] in {f"http://{host}" for host in self.hosts}

    def without_token(self, scope: Scope) -> str | None:
        """The path after the token; None if it is not there."""
        token, slash, rest = scope["path"].removeprefix("/").partition("/")
        right = secrets.compare_digest(token.encode(), self.token.encode())
        return f"/{rest}" if right and slash else None


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Say no, and nothing else."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await PlainTextResponse("Forbidden\n", 403, headers=HEADERS)(scope, receive, send)


def policy_of(hashes: list[str]) -> dict[str, Any]:
    """Headers of a page: it may load what is its own, run scripts with these digests, and nothing else."""
    scripts = " ".join(["'self'", *(f"'sha256-{digest}'" for digest in hashes)])
    rules = (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HEADERS | {"content-security-policy": rules}
