"""Two server processes behind nginx, set up as docs/deploy.md prints it: every visitor stays where they began.

Skipped where nginx is not installed.
"""

import http.client
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import WAIT_MILLISECONDS
from tests.support.harness.forks import wait_until
from tests.support.server import ARGUMENTS, CHROMIUM, DIRECT, QUIET, TOP, Served, free_port, serve

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
HOST = "prune.example.org"
AROUND = """{user}
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    log_format who "$remote_addr $upstream_addr $status $request_uri";
    access_log {folder}/access.log who;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {upstream}
    {server}
}}
"""
N_VISITORS, N_REQUESTS = 16, 3

pytestmark = [pytest.mark.skipif(NGINX is None, reason="nginx is not installed"), pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Proxied:
    """What nginx listens on, and the servers behind it."""

    port: int
    servers: tuple[Served, ...]
    folder: Path

    def answered(self) -> list[tuple[str, str, int, str]]:
        """Visitor's address, server's, status and path of each request that has ended."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return [(who, by, int(status), path) for who, by, status, path in (line.split(" ", 3) for line in lines)]


def printed(port: int, servers: tuple[Served, ...]) -> tuple[str, str]:
    """Both blocks of docs/deploy.md, with ports of this machine and without a certificate."""
    server, upstream = re.findall(r"```nginx\n(.*?)```", (TOP / "docs" / "deploy.md").read_text(), re.DOTALL)
    for number, served in enumerate(servers):
        upstream = upstream.replace(f"127.0.0.1:850{number + 1}", served.address.removeprefix("http://"))
    server = re.sub(r"\n *ssl_.*", "", server).replace("listen 443 ssl;", f"listen {port};")
    asked = server.replace("http://127.0.0.1:8501", "http://prunescope")
    assert asked != server and "850" not in re.sub(r":\d{5}", "", upstream), "docs/deploy.md says it in other words"
    return upstream, asked


@pytest.fixture(scope="module")
def proxied(studies: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """Two servers over the same studies, and nginx before them."""
    folder = tmp_path_factory.mktemp("proxied")
    named = {"STREAMLIT_SERVER_ALLOWED_HOSTS": f"{HOST} localhost"}
    with serve(studies, folder / "one.log", **named) as one, serve(studies, folder / "two.log", **named) as two:
        port, user = free_port(), "user root;" if os.getuid() == 0 else ""
        upstream, server = printed(port, (one, two))
        text = AROUND.format(user=user, folder=folder, upstream=upstream, server=server)
        (folder / "nginx.conf").write_text(text)
        process = subprocess.Popen([str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")])
        try:
            found = Proxied(port, (one, two), folder)
            wait_until(lambda: process.poll() is not None or answers(port), 30)
            assert process.poll() is None, (folder / "error.log").read_text()
            yield found
        finally:
            process.terminate()
            process.wait(20)


def answers(port: int) -> bool:
    """Whether somebody listens who leads to a dashboard."""
    try:
        with DIRECT.open(f"http://localhost:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_each_visitor_stays_with_one_process_and_both_have_some(proxied: Proxied) -> None:
    for visitor in range(1, N_VISITORS + 1):
        for _ in range(N_REQUESTS):
            own = (f"127.{visitor}.0.1", 0)
            connection = http.client.HTTPConnection("127.0.0.1", proxied.port, timeout=20, source_address=own)
            connection.request("GET", "/_stcore/health", headers={"Host": HOST})
            assert connection.getresponse().status == 200
            connection.close()
    wait_until(lambda: len(proxied.answered()) > N_VISITORS * N_REQUESTS, 10)
    by: dict[str, set[str]] = {}
    for who, server, _, _ in proxied.answered():
        by.setdefault(who, set()).add(server)
    assert len(by) > N_VISITORS and all(len(servers) == 1 for servers in by.values())
    assert len(set.union(*by.values())) == 2


def test_a_page_with_pictures_opens_behind_it(proxied: Proxied, browser: Browser) -> None:
    led = f"--host-resolver-rules=MAP {HOST} 127.0.0.1:{proxied.port}"
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, led])
    try:
        page = other.new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for path in ("frontier", "harmed"):
            page.goto(f"http://{HOST}/{path}?study=made")
            expect(page.locator(QUIET)).to_be_visible(timeout=WAIT_MILLISECONDS)
            expect(page.locator(".js-plotly-plot, img").first).to_be_visible(timeout=WAIT_MILLISECONDS)
        assert not wrong and page.get_by_test_id("stException").count() == 0
        refused = [line for line in proxied.answered() if line[2] >= 400 and "/_stcore/" not in line[3]]
        assert not refused and not any("Traceback" in served.said() for served in proxied.servers)
    finally:
        other.close()
