"""The server answers pages of its own, on this machine, with its token, and nobody else."""

import http.client
import json
import random
import socket
from contextlib import closing, contextmanager

import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from openteam.errors import UserError
from openteam.viewer.messages import LONGEST
from openteam.viewer.serving import reserve

MESSAGES = 10_000
HANDSHAKE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


def get(place, path, **headers):
    """Status, headers and body of a request whose path is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


@contextmanager
def open_page(place, query=""):
    """A socket, after the page knows what it shows, and what it was told last."""
    address = place.url.replace("http", "ws") + "socket" + query
    with connect(address, origin=f"http://127.0.0.1:{place.port}", max_size=None) as page:
        while "stage" not in (message := json.loads(page.recv(60))) and "failed" not in message:
            pass
        yield page, message


def ask(page, **message):
    """All answers to a message, up to its error or end."""
    page.send(json.dumps({"id": 7} | message))
    answers = [json.loads(page.recv(60))]
    while not {"error", "end"} & answers[-1].keys():
        answers.append(json.loads(page.recv(60)))
    assert all(answer["id"] == 7 for answer in answers)
    return answers


def test_it_listens_on_this_machine_only(place):
    assert place.listener.getsockname()[0] == "127.0.0.1"
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex(("127.0.0.2", place.port)) != 0


def test_a_port_in_use_is_a_mistake_and_tokens_differ(place):
    with pytest.raises(UserError, match="cannot be used"):
        reserve(place.port)
    other = reserve()
    other.listener.close()
    assert other.token != place.token
    assert len(place.token) > 20


def test_pages_are_served_with_a_policy_that_allows_nothing_foreign(place):
    status, headers, text = get(place, f"/{place.token}/watch")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "http" not in headers["content-security-policy"]
    assert "./page/watch.js" in text
    status, headers, _ = get(place, f"/{place.token}/page/watch.js")
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/javascript")


@pytest.mark.parametrize("path", ["/", "/watch", "/wrong/watch", "/{token}x/watch", "/{token}", "//{token}/watch"])
def test_without_the_token_nothing_is_told(place, path):
    status, _, text = get(place, path.replace("{token}", place.token))
    assert (status, text) == (403, "Forbidden\n")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_foreign_hosts_and_origins_are_refused_by_pages_and_sockets(place, headers):
    headers = {name: value.replace("{port}", str(place.port)) for name, value in headers.items()}
    assert get(place, f"/{place.token}/watch", **headers)[0] == 403
    own = {"Origin": f"http://127.0.0.1:{place.port}"}
    assert get(place, f"/{place.token}/socket", **(HANDSHAKE | own | headers))[0] == 403


def test_a_socket_without_an_origin_is_refused(place):
    with pytest.raises(InvalidStatus):
        connect(place.url.replace("http", "ws") + "socket").__enter__()


def test_a_handshake_of_its_own_page_is_accepted(place):
    """So the refusals above are not for want of something else."""
    own = {"Origin": f"http://localhost:{place.port}", "Host": f"localhost:{place.port}"}
    assert get(place, f"/{place.token}/socket", **(HANDSHAKE | own))[0] == 101


@pytest.mark.parametrize(
    "path",
    [
        "page/../server.py", "page/..%2fserver.py", "page/%2e%2e/server.py", "page//etc/passwd", "page/%2fetc%2fpasswd",
        "../../etc/passwd", "page/watch.html", "page/__init__.py", "config.json", "seed-0/config.json", "page/",
    ],
)  # fmt: skip
def test_no_file_besides_the_page_is_readable(place, path):
    status, _, text = get(place, f"/{place.token}/{path}")
    assert status in (403, 404)
    assert "import" not in text
    assert "root:" not in text


@pytest.mark.parametrize("query", ["?run=9", "?run=../x", "?step=5", "?split=nowhere", "?against=7", "?run=-1"])
def test_an_address_that_makes_no_sense_gets_a_sentence(place, query):
    with open_page(place, query) as (_, message):
        pass
    assert message["failed"].endswith(".")
    assert "Error" not in message["failed"]


def junk(rng):
    """A value of any kind."""
    kinds = (
        lambda: None, lambda: rng.random() < 0.5, lambda: rng.randint(-(10**9), -1), lambda: 10 ** rng.randint(13, 400),
        lambda: rng.uniform(-1e300, 1e300),
        lambda: "".join(chr(rng.randint(1, 0x10FFFF)) for _ in range(rng.randint(0, 9))),
        lambda: [junk(rng) for _ in range(rng.randint(0, 3))],
        lambda: {rng.choice(["remove", "add", "move", "set", "at", "x"]): junk(rng) for _ in range(rng.randint(0, 3))},
    )  # fmt: skip
    return rng.choice(kinds)()


def random_message(rng):
    """Bytes, text that is no JSON, JSON that is no message, or a message with something wrong in it."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randint(0, 60))
    if kind < 0.2:
        return "".join(rng.choice('{}[]",:0aé\\ ') for _ in range(rng.randint(0, 40)))
    if kind < 0.4:
        return json.dumps(junk(rng))
    do = rng.choice(["new", "more", "act", "ask", "branch", "compare", "score", "save", "quit", "__class__", junk(rng)])
    fields = ["seed", "seat", "episode", "count", "action", "frame", "changes", "id"]
    valid = {"episode": 0, "frame": 0, "action": 0}
    wrong = {name: valid[name] if name in valid and rng.random() < 0.5 else junk(rng) for name in fields}
    return json.dumps({"do": do} | wrong)


def answers_to_junk(page, rng, count):
    """How many of ``count`` random messages are answered with an error, and how many with anything else."""
    counts = {"error": 0, "end": 0}
    for _ in range(count):
        page.send(random_message(rng))
    while sum(counts.values()) < count:
        answer = json.loads(page.recv(60))
        for kind in counts.keys() & answer.keys():
            counts[kind] += 1
        assert "That failed" not in answer.get("error", "")  # each mistake has a sentence of its own
    return counts["error"], counts["end"]


def test_ten_thousand_random_messages_get_an_error_and_disturb_nobody(place, caplog):
    rng = random.Random(0)
    with open_page(place) as (page, _), open_page(place) as (other, _):
        before = ask(other, do="new", seed=3)
        ask(page, do="new", seed=3)
        counts = np.sum([answers_to_junk(page, rng, 500) for _ in range(MESSAGES // 500)], 0)
        assert counts[0] > 0.95 * MESSAGES
        page.send("x" * (LONGEST + 1))
        assert "at most" in json.loads(page.recv(60))["error"]
        assert ask(page, do="new", seed=3)[0]["frames"] == before[0]["frames"]
        more = [ask(one, do="more", episode=0, count=3) for one in (page, other)]
        assert more[0] == more[1]
    assert not caplog.records


def test_an_error_that_is_nobodys_mistake_is_logged_and_told_without_details(place, monkeypatch, caplog):
    def broken(self, message):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr("openteam.viewer.session.Session.find", broken)
    with open_page(place) as (page, _):
        (answer,) = ask(page, do="more", episode=0, count=1)
        assert answer["error"] == "That failed: RuntimeError. The terminal says more."
        assert "a secret" in caplog.text
        assert ask(page, do="new", seed=0)[-1]["end"]


def test_pages_have_episodes_of_their_own(place):
    with open_page(place) as (two, _):
        with open_page(place) as (one, _):
            assert ask(one, do="new", seed=1)[0]["opened"]["id"] == 0
            assert "Start another" in ask(two, do="more", episode=0, count=1)[-1]["error"]
            assert ask(two, do="new", seed=2)[0]["opened"] == {"id": 0, "seed": 2, "seat": None, "origin": None}
        assert ask(two, do="more", episode=0, count=1)[0]["first"] == 1


def test_the_gallery_tells_curves_and_runs_by_number(place):
    status, _, text = get(place, f"/{place.token}/gallery.json")
    (task,) = json.loads(text)["tasks"]
    (group,) = task["groups"]
    assert status == 200
    assert (task["name"], group["steps"]) == ("tiny", [100])
    assert group["curves"]["train"]["mean"] == [2.0]  # seeds with 1.5 and 2.5
    assert [run["number"] for run in group["runs"]] == [0, 1]
    assert group["runs"][0]["watchable"] == [100]
