"""The picture "Who pays?": its numbers against those made by hand, its words, its size, and studies of every kind."""

import base64
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.store.images import write_images
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog, who_pays
from pages.shared.cache.catalog import Source
from pages.shared.cache.who_pays import OneModel
from pages.shared.names import variant_name
from pages.views.overview import hero, words
from tests.pages.conftest import TOP
from tests.support.planted.regions import make_regions
from tests.support.studies import make_study

DEMO = Source(str(TOP / "data" / "demo"), 0)


def made(path: Path, **settings: object) -> Source:
    """A made-up study."""
    make_study(path, **settings)
    return Source(str(path), 0)


def hero_of(source: Source, baseline: str = CONTROL) -> hero.Hero | None:
    """The picture of the experiment that the study opens with."""
    experiment = catalog.experiments(source)[0]
    return hero.find_hero(catalog.flags(source, experiment, baseline).table, source, experiment, baseline)


def test_losses_are_those_counted_example_by_example(tmp_path: Path) -> None:
    source = made(tmp_path / "s", levels=3, seeds=2, examples=240)
    experiment = catalog.experiments(source)[0]
    variant = ("global_unstructured", "rewind", "none")
    found = who_pays.who_pays(OneModel(source, experiment, variant, DENSE), "writer")
    assert found is not None and found.levels == (0, 1, 2, 3) and found.n_seeds == 2
    rows = catalog.levels(source, experiment)
    runs = rows[(rows["technique"] == variant[0]) & (rows["treatment"] == variant[1])]["run"].astype(str).unique()
    table = source.study.examples(catalog.example_set(source, experiment))
    for place, writer in enumerate(found.parties):
        mine = (table["writer"].astype(str) == writer).to_numpy()
        assert found.n[place] == mine.sum()
        for level in found.levels:
            losses = []
            for run in runs:
                matrix = source.study.prediction_matrix(run)[1]
                right = matrix == table["label"].to_numpy()
                losses.append(right[0][mine].mean() - right[level][mine].mean())
            assert found.losses[level, place] == pytest.approx(np.mean(losses))
    for level in found.levels:
        assert found.total[level] == pytest.approx(
            rows[rows["run"].isin(runs) & (rows["level"] == level)]["accuracy"].mean()
        )


def test_the_exemplar_is_the_members_own_and_changes_most(tmp_path: Path) -> None:
    source = made(tmp_path / "s", levels=3, seeds=2, examples=240)
    found = hero_of(source)
    assert found is not None
    writers = source.study.examples("qmnist-writers")["writer"].astype(str).to_numpy()
    assert writers[found.pays.exemplars].tolist() == list(found.pays.parties)


@pytest.mark.parametrize(
    ("settings", "column", "look"),
    [
        ({"writers": 24}, "writer", "tiles"),
        ({"writers": 0, "groups": {}}, "class", "bars"),
        ({"writers": 0, "groups": {}, "classes": [f"c{n}" for n in range(30)], "examples": 600}, "class", "bars"),
    ],
)
def test_members_are_tiles_and_others_bars(tmp_path: Path, settings: dict[str, object], column: str, look: str) -> None:
    source = made(tmp_path / "s", levels=3, **settings)
    found = hero_of(source)
    assert found is not None and found.pays.column == column
    content = hero.payload(found, source, catalog.experiments(source)[0])
    assert content is not None and content["look"] == look
    assert look == "tiles" or len(content["parties"]) <= hero.MOST_BARS
    rest = [row[content["stop"]] for row in content["losses"]]
    assert rest == sorted(rest, reverse=True)
    assert ("10 more classes are not drawn" in content["words"]["caption"]) == (len(found.pays.parties) == 30)


def test_groups_are_bars_where_nobody_is_named(tmp_path: Path) -> None:
    make_regions(tmp_path / "s")
    found = hero_of(Source(str(tmp_path / "s"), 0))
    assert found is not None and found.pays.column == "region" and found.word == ("region", "groups")


def test_without_dense_there_is_no_picture_and_a_sentence_all_the_same(tmp_path: Path) -> None:
    source = made(tmp_path / "s", dense=False)
    experiment = catalog.experiments(source)[0]
    flags = catalog.flags(source, experiment).table
    assert hero_of(source) is None
    assert "cannot be said" in words.hero_sentence(flags, None, experiment, {})
    assert hero.payload(None, source, experiment) is None


@pytest.mark.parametrize("place", range(7))
def test_the_sentence_has_at_most_twenty_words_on_the_shipped_study(place: int) -> None:
    experiments = catalog.experiments(DEMO)
    if place >= len(experiments):
        pytest.skip("the study has fewer experiments")
    flags = catalog.flags(DEMO, experiments[place]).table
    found = hero.find_hero(flags, DEMO, experiments[place], CONTROL)
    names = catalog.class_names(DEMO, experiments[place])
    said = formats.unmarked(words.hero_sentence(flags, found, experiments[place], names))
    assert len(said.split()) <= 20, said
    assert found is not None and found.stop > 0


def test_the_shipped_picture_is_small_and_says_its_finding() -> None:
    experiment = catalog.experiments(DEMO)[0]
    found = hero_of(DEMO)
    assert found is not None
    content = hero.payload(found, DEMO, experiment)
    assert content is not None and len(json.dumps(content)) < 300_000
    losses = found.pays.losses[found.stop]
    n = int((losses >= found.line.loss - 1e-9).sum())
    assert sum(row[found.stop] >= content["pays"] for row in content["losses"]) == n, "the picture counts the same"
    assert f"{n} of {len(losses)} writers" in content["words"]["alt"] and n == found.n_paying
    pay = formats.from_points_on(found.line.loss)
    assert f"{n} of {len(losses)} writers lose {pay}; by chance alone 0 to" in hero.chance_sentence(found)
    named = variant_name(dict(zip(("technique", "treatment", "mitigation"), found.variant, strict=True)))
    assert named in content["words"]["cut"] and content["words"]["last"].startswith(content["sparsity"][-1])
    assert formats.points_in_words(losses.max()) in content["words"]["alt"]


def test_a_sheet_holds_each_image_as_ink(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (23, 1, 28, 28), np.uint8)
    address, grey = hero.sheet_of(images)
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))
    assert grey and sheet.shape == (56, 560, 2)
    assert (sheet[28:, 28:56, 1] == images[21, 0]).all() and (sheet[:, :, 0] == 0).all()


def test_images_of_other_examples_are_not_shown(tmp_path: Path) -> None:
    source = made(tmp_path / "s", levels=3, examples=240)
    labels = source.study.examples("qmnist-writers")["label"].to_numpy()
    images = np.zeros((240, 1, 28, 28), np.uint8)
    experiment, found = catalog.experiments(source)[0], hero_of(source)
    for stamp, (given, shown) in enumerate([(labels, True), ((labels + 1) % 10, False)], 1):
        write_images(Study(tmp_path / "s"), "qmnist-writers", images, given)
        content = hero.payload(found, Source(source.path, stamp), experiment)
        assert content is not None and bool(content["sprite"]) == shown


def test_a_study_whose_predictions_are_damaged_has_a_sentence_only(tmp_path: Path) -> None:
    source = made(tmp_path / "s", levels=3)
    flags, experiment = catalog.flags(source, catalog.experiments(source)[0]).table, catalog.experiments(source)[0]
    shutil.copytree(tmp_path / "s", tmp_path / "t")
    for file in (tmp_path / "t" / "runs").glob("*/predictions.parquet"):
        file.write_bytes(b"no")
    broken = Source(str(tmp_path / "t"), 0)
    assert hero.find_hero(flags, broken, experiment, CONTROL) is None
