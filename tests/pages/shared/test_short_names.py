"""Short names of experiments: shown where the study has them, and nothing where it has none or its file is damaged."""

import shutil
from dataclasses import astuple
from pathlib import Path

from engine.specs.experiment_names import ExperimentName, name_tables
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.frame import short_name
from tests.pages.conftest import OpenPage


def test_the_sidebar_says_the_name_that_the_study_gives(open_page: OpenPage, study_root: Path, tmp_path: Path) -> None:
    shutil.copytree(study_root / "planted", tmp_path / "planted")
    source = Source(str(tmp_path / "planted"), 0)
    experiment = catalog.experiments(source)[0]
    assert short_name(source, experiment) == ""
    info = tmp_path / "planted" / "study.toml"
    kept = info.read_text() if info.exists() else ""
    info.write_text(kept + name_tables([ExperimentName(*astuple(experiment), name="Faces: *gender*")]))
    assert short_name(source, experiment) == "Faces: *gender*"
    app = open_page("app.py", "planted", tmp_path)
    assert [caption.value for caption in app.sidebar.caption] == [formats.plain("Faces: *gender*")]
    info.write_text("title = ")
    assert short_name(source, experiment) == ""
