"""A random walk in a real browser over five studies meets no exception and no error in console or server.

150 steps in all, most of them where everybody may do everything, others as an editor who starts and stops jobs, as a
viewer, and in a demonstration of read-only studies; `PRUNESCOPE_FULL=1` takes 1,000, `PRUNESCOPE_WALK_STEPS` any
number, `PRUNESCOPE_SEED` draws others.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from engine.jobs.job import Job, jobs_of
from engine.jobs.stop_job import ask_to_stop, see_it_end
from pages.shared.menu import MENU
from tests.browser.conftest import USUAL, WAIT_MILLISECONDS, Watched, new_context
from tests.support.dashboard.browser_walk import BUTTONS, JOB_BUTTONS, Walker
from tests.support.harness.read_only import read_only
from tests.support.harness.seed import SEED, seeded
from tests.support.server import Served, serve

N_STEPS = int(os.environ.get("PRUNESCOPE_WALK_STEPS") or (1000 if os.environ.get("PRUNESCOPE_FULL") else 150))
N_OPEN, N_OTHERS = N_STEPS - 3 * (N_STEPS // 6), N_STEPS // 6
MOST_MISSED = 0.1
"""Of the steps that may meet nothing, because a rerun took it away."""
SEES_ALL = 500
"""So many steps lead to every page."""
START = "/frontier?study=made"
HEADER = "X-Forwarded-Email"
ANYBODY, EDITOR, VIEWER, VISITOR = "anybody", "ada@example.org", "vic@example.org", "visitor"


def walk(watched: Watched, served: Served, n_steps: int, who: str) -> None:
    """Take so many steps; fail at the first that anything complains of."""
    page, before = watched.open(START), len(served.said())

    def problems() -> list[str]:
        said = served.said()[before:]
        return watched.problems + [said] * ("Traceback" in said)

    walker = Walker(page, watched.settle, seeded(who), problems, BUTTONS + JOB_BUTTONS * (who != ANYBODY))
    try:
        walker.walk(n_steps)
    finally:
        print(f"seed {SEED}", walker.path(), *walker.missed, sep="\n")
    assert len(walker.said) == n_steps
    unseen = {f"{entry.label} · PruneScope" for entry in MENU} - walker.seen
    assert n_steps < SEES_ALL or not unseen, unseen
    assert len(walker.missed) <= MOST_MISSED * n_steps + 1, walker.missed


@pytest.mark.timeout(60 + 20 * N_OPEN)
def test_no_walk_breaks_a_page(visit: Callable[..., Watched], served: Served) -> None:
    walk(visit(), served, N_OPEN, ANYBODY)


@pytest.fixture
def behind_a_proxy(studies: Path, tmp_path: Path) -> Iterator[Served]:
    """The dashboard where a proxy says who comes, over a copy of the studies; no data set is there, so that jobs end
    soon, and none outlives the test."""
    shutil.copytree(studies, tmp_path / "studies")
    (tmp_path / "data").mkdir()
    environment = {
        "PRUNESCOPE_ACCESS": "sign-in",
        "PRUNESCOPE_PROXY_HEADER": HEADER,
        "PRUNESCOPE_EDITORS": EDITOR,
        "PRUNESCOPE_DATA": str(tmp_path / "data"),
    }
    with serve(tmp_path / "studies", tmp_path / "server.log", **environment) as served:
        yield served
    for job in jobs_in(tmp_path / "studies"):
        if job.is_live():
            ask_to_stop(job, "cancel")
            see_it_end(job)
        assert not job.is_live()


def walk_as(who: str, served: Served, browser: Browser, test: pytest.Item) -> None:
    """A walk of somebody whom a proxy names, in a browser of their own."""
    expect.set_options(timeout=WAIT_MILLISECONDS)
    with new_context(browser, extra_http_headers={HEADER: who}, **USUAL) as context:
        watched = Watched(context.new_page(), served.address, test)
        watched.listen()
        walk(watched, served, N_OTHERS, who)


def jobs_in(studies: Path) -> list[Job]:
    """All jobs of all studies."""
    return [job for study in sorted(studies.iterdir()) for job in jobs_of(study)]


@pytest.mark.timeout(120 + 20 * N_OTHERS)
@pytest.mark.parametrize("who", [EDITOR, VIEWER])
def test_no_walk_breaks_a_page_for(
    who: str, behind_a_proxy: Served, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    walk_as(who, behind_a_proxy, browser, request.node)
    if who == VIEWER:
        assert not jobs_in(tmp_path / "studies"), "a viewer starts nothing"


@pytest.mark.timeout(120 + 20 * N_OTHERS)
def test_no_walk_breaks_a_page_of_a_demonstration(
    studies: Path, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    shutil.copytree(studies, tmp_path / "studies")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "studies").rglob("*")}
    log = tmp_path / "server.log"
    with read_only(tmp_path / "studies"), serve(tmp_path / "studies", log, PRUNESCOPE_ACCESS="demo") as served:
        walk_as(VISITOR, served, browser, request.node)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "studies").rglob("*")} == before
