"""Short names of experiments: the study's own, else one made of the protocol; and names that earlier links use."""

import shutil
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from engine.run_spec import RunSpec
from engine.specs.experiment_names import ExperimentName, name_tables
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.experiments import experiment_names
from pages.shared.names import OLD_NAMES
from pages.shared.protocol import protocol_name
from tests.pages.conftest import OpenPage

SPEC = RunSpec("qmnist", "lenet", "global_unstructured", epochs=3)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (SPEC, "20 cuts of 20 %, 3 epochs each"),
        (replace(SPEC, levels=1, epochs=1, share=0.5), "1 cut of 50 %, 1 epoch each"),
        (replace(SPEC, epochs=30, crop=4, flip=True), "20 cuts of 20 %, 30 epochs each, augmented"),
        (
            replace(SPEC, schedule="oneshot", sparsities=(0.5, 0.75, 0.98), epochs=10, epochs_after=5),
            "One cut to 50–98 %, 10+5 epochs",
        ),
        (replace(SPEC, schedule="oneshot", sparsities=(0.9,)), "One cut to 90 %, 3 epochs"),
        (replace(SPEC, schedule="gradual", sparsities=(0.3, 0.9)), "Gradual cut to 30–90 %, 3 epochs"),
        (replace(SPEC, schedule="imported"), "Made elsewhere"),
    ],
)
def test_a_protocol_has_a_short_name(spec: RunSpec, name: str) -> None:
    assert protocol_name(spec) == name


def test_the_picker_says_the_name_that_the_study_gives(open_page: OpenPage, study_root: Path, tmp_path: Path) -> None:
    shutil.copytree(study_root / "planted", tmp_path / "planted")
    source = Source(str(tmp_path / "planted"), 0)
    experiment = catalog.experiments(source)[0]
    made = experiment_names(source)[experiment]
    assert made == protocol_name(catalog.spec(source, experiment))
    info = tmp_path / "planted" / "study.toml"
    kept = info.read_text() if info.exists() else ""
    info.write_text(kept + name_tables([ExperimentName(*astuple(experiment), name="Faces: *gender*")]))
    assert experiment_names(source)[experiment] == "Faces: *gender*"
    picker = open_page("app.py", "planted", tmp_path).selectbox(key="protocol")
    assert picker.value == "Faces: *gender*" and experiment.protocol in picker.help
    info.write_text("title = ")
    assert experiment_names(source)[experiment] == made


def test_names_that_two_share_give_way_to_the_protocol(study_root: Path, tmp_path: Path) -> None:
    shutil.copytree(study_root / "planted", tmp_path / "planted")
    source = Source(str(tmp_path / "planted"), 0)
    names = experiment_names(source)
    places = [(e.dataset, e.split, e.network, name) for e, name in names.items()]
    assert len(set(places)) == len(places) == len(catalog.experiments(source))


def test_links_of_earlier_versions_open_the_same(open_page: OpenPage, study_root: Path) -> None:
    source = Source(str(study_root / "planted"), 0)
    experiment = catalog.experiments(source)[-1]
    app = open_page("app.py", "planted", protocol=experiment.protocol, treatments="Finetune")
    assert app.selectbox(key="protocol").value == experiment_names(source)[experiment]
    assert app.pills(key="treatments").value == [OLD_NAMES["Finetune"]]
    app = open_page("pages/class_curves.py", "planted", treatment="Finetune", measure="Mean - min")
    assert app.selectbox(key="treatment").value == "Keep training"
    assert app.selectbox(key="measure").value == "Gap average to worst"
    app = open_page("pages/writers.py", "planted", attribute="|tilt|", series="hsf4")
    assert app.selectbox(key="attribute").value == "slant"
    assert app.multiselect(key="series").value == ["students (hsf4)"]
