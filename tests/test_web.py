"""What the server answers to a stranger: headers on every answer, closed doors, other origins, uploads too large."""

import http.client
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from urllib.parse import urlsplit

import pytest

from tests.support.server import Served, serve
from tests.support.studies import make_study

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
STREAM = "/_stcore/stream"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("web")
    make_study(folder / "studies" / "made")
    with serve(folder / "studies", folder / "log") as running:
        yield running


def ask(served: Served, method: str, path: str, headers: dict[str, str]) -> tuple[int, Message]:
    """Status and headers of the answer to a request whose headers are sent and whose body never is."""
    with closing(http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=20)) as connection:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        with connection.getresponse() as answer:
            return answer.status, answer.headers


@pytest.mark.parametrize("path", ["/", "/frontier", "/_stcore/health", "/_stcore/metrics", "/static/none.js"])
def test_every_answer_tells_a_browser_what_a_page_may_do(served: Served, path: str) -> None:
    headers = ask(served, "GET", path, {})[1]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["object-src"] == "'none'"
    assert "unsafe-inline" not in policy["script-src"]
    assert not any(word.startswith(("http", "*")) for rule in policy.values() for word in rule.split())


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/_stcore/health", {}, 200),
        ("GET", "/_stcore/metrics", {}, 404),
        ("GET", "/_stcore/agent/openapi.json", {}, 404),
        ("POST", "/_stcore/agent/interact", {"Content-Length": "2"}, 404),
        ("PUT", "/_stcore/upload_file/a/b", {"Content-Length": str(201 * 2**20)}, 413),
        ("PUT", "/_stcore/upload_file/a/b", {"Transfer-Encoding": "chunked"}, 411),
        ("PUT", "/_stcore/upload_file/a/b", {"Content-Length": "-1"}, 400),
        ("PUT", "/_stcore/upload_file/a/b", {"Content-Length": "0"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Host": "elsewhere.example"}, 403),
        ("GET", STREAM, HANDSHAKE, 101),
        ("GET", STREAM, HANDSHAKE | {"Origin": "OWN"}, 101),
        ("GET", STREAM, HANDSHAKE | {"Origin": "http://localhost:1"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Origin": "http://localhost"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Origin": "http://127.0.0.1:8501"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Origin": "https://elsewhere.example"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Origin": "null"}, 403),
        ("GET", STREAM, HANDSHAKE | {"Origin": ""}, 403),
    ],
)
def test_each_probe_gets_its_answer(
    served: Served, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    headers = {name: served.address if value == "OWN" else value for name, value in headers.items()}
    assert ask(served, method, path, headers)[0] == status
