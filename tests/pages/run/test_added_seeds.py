"""Seeds that the Run page adds join the pages at once, and the Frontier's shares change with them."""

import shutil
from pathlib import Path

import pytest

from engine.jobs.job import jobs_of
from engine.store.study import Study
from tests.pages.conftest import OpenPage, words
from tests.support.harness.forks import wait_until

pytestmark = pytest.mark.timeout(600)


def test_added_seeds_change_how_sure_the_frontier_is(tmp_path: Path, study_root: Path, open_page: OpenPage) -> None:
    study = tmp_path / "tiny"
    shutil.copytree(study_root / "tiny", study)
    before = open_page("pages/frontier.py", "tiny", root=tmp_path)
    assert "How sure the choice is" not in words(before), "one seed cannot say"
    app = open_page("pages/run.py", "tiny", root=tmp_path, what="More seeds", more="2")
    app.button(key="start").click().run()
    assert not app.exception
    (job,) = jobs_of(study)
    wait_until(lambda: not job.is_live(), 400)
    assert job.state().word == "done", job.log()
    assert sorted(Study(study).run_record(key).spec.seed for key in Study(study).runs()) == [0, 1, 2]
    after = open_page("pages/frontier.py", "tiny", root=tmp_path)
    assert "How sure the choice is" in words(after)
