"""Who may do what, in a real browser: sign-in against a provider of this machine, a proxy's header, a demonstration."""

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Browser, Page, expect

from engine.jobs.job import jobs_of
from pages.shared.frame import MENU
from tests.browser.conftest import WAIT_MILLISECONDS, new_context
from tests.support.harness.read_only import read_only
from tests.support.server import QUIET, TOP, Served, free_port, serve
from tests.support.studies import make_study

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the provider's own libraries
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
ADA = User(sub="ada", claims={"email": "ada@example.org", "duties": ["editor"]})
VIC = User(sub="vic", claims={"email": "vic@example.org", "duties": ["reader"]})
EVE = User(sub="eve", claims={"email": "eve@elsewhere.net", "duties": ["editor"]})


@contextmanager
def signed_in_server(tmp_path: Path, studies: Path, seconds: int = 3600) -> Iterator[Served]:
    """The dashboard behind a sign-in; tokens are good for so long."""
    port = free_port()
    users = [ADA, VIC, EVE]
    with run_server_in_thread(user_claims=users, access_token_max_age=timedelta(seconds=seconds)) as provider:
        (tmp_path / "secrets").mkdir(exist_ok=True)
        secrets = tmp_path / "secrets" / "secrets.toml"
        secrets.write_text(
            f'[auth]\nredirect_uri = "http://localhost:{port}/oauth2callback"\n'
            f'cookie_secret = "{"x" * 40}"\nclient_id = "prunescope"\nclient_secret = "secret"\n'
            f'server_metadata_url = "http://localhost:{provider.server_port}/.well-known/openid-configuration"\n'
        )
        environment = {
            "PRUNESCOPE_ACCESS": "sign-in",
            "PRUNESCOPE_ROLE_CLAIM": "duties",
            "PRUNESCOPE_ALLOWED": "*@example.org",
            "STREAMLIT_SECRETS_FILES": str(secrets),
        }
        with serve(studies, tmp_path / "server.log", port=port, **environment) as served:
            yield served


def sign_in(page: Page, served: Served, who: str, path: str = "/") -> None:
    """Go through the provider's page as one of its users."""
    page.goto(f"{served.address}{path}")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=who, exact=True).click()
    page.wait_for_url(f"{served.address}/**")
    expect(page.locator(QUIET)).to_be_visible()


def test_viewers_look_editors_start_and_others_stay_out(page: Page, browser: Browser, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    make_study(studies / "made", levels=3, seeds=1)
    with signed_in_server(tmp_path, studies) as served:
        page.goto(f"{served.address}/run")
        expect(page.get_by_text("Sign in to go on.")).to_be_visible()
        assert page.get_by_test_id("stSidebar").get_by_role("link").count() == 0
        sign_in(page, served, "vic")
        expect(page.get_by_text(re.compile("vic@.?example.org · viewer"))).to_be_visible()
        page.goto(f"{served.address}/run?study=made")
        expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/oauth2/end_session**")  # the provider asks whether that is meant
        page.goto(f"{served.address}/run?study=made")
        expect(page.get_by_text("Sign in to go on.")).to_be_visible()
        sign_in(page, served, "eve")
        expect(page.get_by_text(re.compile("eve@.?elsewhere.net may not come in."))).to_be_visible()
        with new_context(browser) as context:
            other = context.new_page()
            sign_in(other, served, "ada")
            expect(other.get_by_text(re.compile("ada@.?example.org · editor"))).to_be_visible()
            other.goto(f"{served.address}/run?study=made")
            other.get_by_role("button", name="Start", exact=True).click()
            expect(other.get_by_text("is running in made")).to_be_visible()
            (job,) = jobs_of(studies / "made")
            assert job.owner()["who"] == "ada@example.org"
            other.get_by_role("button", name="Cancel").click()
            expect(other.get_by_text("It was cancelled.")).to_be_visible()
        assert "Traceback" not in served.said(), served.said()


@pytest.mark.quiet
def test_a_token_that_has_run_out_is_signed_out(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    make_study(studies / "made", levels=3, seeds=1)
    with signed_in_server(tmp_path, studies, seconds=20) as served:
        sign_in(page, served, "ada")
        expect(page.get_by_text(re.compile("ada@.?example.org · editor"))).to_be_visible()
        time.sleep(21)
        page.goto(f"{served.address}/run?study=made")
        expect(page.get_by_text("You have been signed out")).to_be_visible()
        expect(page.get_by_role("button", name="Start", exact=True)).to_have_count(0)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_proxys_header_counts_only_where_it_is_trusted(trusted: bool, browser: Browser, tmp_path: Path) -> None:
    expect.set_options(timeout=WAIT_MILLISECONDS)
    studies = tmp_path / "studies"
    make_study(studies / "made", levels=3, seeds=1)
    environment = {"PRUNESCOPE_ACCESS": "sign-in", "PRUNESCOPE_EDITORS": "ada@example.org"}
    environment |= {"PRUNESCOPE_PROXY_HEADER": "X-Forwarded-Email"} if trusted else {}
    with (
        serve(studies, tmp_path / "server.log", **environment) as served,
        new_context(browser, extra_http_headers={"X-Forwarded-Email": "ada@example.org"}) as context,
    ):
        page = context.new_page()
        page.goto(f"{served.address}/run?study=made")
        if trusted:
            expect(page.get_by_text(re.compile("ada@.?example.org · editor"))).to_be_visible()
        else:
            expect(page.get_by_text("Sign in to go on.")).to_be_visible()
            page.get_by_role("button", name="Sign in").click()  # nothing is set up for it
            expect(page.get_by_text("cannot sign anybody in")).to_be_visible()
        assert "Traceback" not in served.said(), served.said()


def test_a_demonstration_opens_every_page_on_a_read_only_copy(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    shutil.copytree(TOP / "data" / "demo", studies / "demo")
    before = {path: path.stat().st_mtime_ns for path in studies.rglob("*")}
    with read_only(studies), serve(studies, tmp_path / "server.log", PRUNESCOPE_ACCESS="demo") as served:
        for entry in MENU:
            path = "" if entry.file == "app.py" else Path(entry.file).stem
            page.goto(f"{served.address}/{path}?study=demo")
            expect(page.locator(QUIET)).to_be_visible()
            expect(page.get_by_text("Demonstration.", exact=True)).to_be_visible()
            expect(page.get_by_test_id("stException")).to_have_count(0)
        page.goto(f"{served.address}/run?study=demo")
        expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
        assert "Traceback" not in served.said(), served.said()
    assert {path: path.stat().st_mtime_ns for path in studies.rglob("*")} == before
