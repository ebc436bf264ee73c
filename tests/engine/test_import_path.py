"""Names with a colon are imported where that is trusted, and a refusal says which part failed."""

import sys
from pathlib import Path

import pytest

from engine.datasets.dataset_table import DATASETS
from engine.errors import PruneScopeError
from engine.import_path import imported_object, trusting
from engine.networks.network_table import NETWORKS
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.store.study import examples_name

SOURCE = """
from torch import nn
import prunescope as ps

class Nets:
    small = staticmethod(lambda channels, side, n_classes: nn.Flatten())

number = 3

def data():
    return 3

def score(scored):
    return scored.weights
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module of a user's own that can be imported."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    (tmp_path / f"{name}_broken.py").write_text("1 / 0")
    (tmp_path / f"{name}_needy.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_nothing_is_imported_unless_trusted(own_module: str) -> None:
    for use in (
        lambda: imported_object(f"{own_module}:score"),
        lambda: NETWORKS[f"{own_module}:Nets.small"],
        lambda: validate_spec(RunSpec("digits", f"{own_module}:Nets.small", "global_unstructured")),
    ):
        with pytest.raises(PruneScopeError, match="--trust"):
            use()
    assert own_module not in sys.modules


def test_trust_ends_with_its_block(own_module: str) -> None:
    with trusting():
        imported_object(f"{own_module}:score")
        with trusting(False):
            imported_object(f"{own_module}:score")
    with pytest.raises(PruneScopeError, match="--trust"):
        imported_object(f"{own_module}:score")


def test_a_spec_of_import_paths_is_valid_and_its_names_are_kept(own_module: str) -> None:
    spec = RunSpec(f"{own_module}:data", f"{own_module}:Nets.small", f"{own_module}:score")
    with trusting():
        checked = validate_spec(spec)
        assert TECHNIQUES[spec.technique].label == "score" and DATASETS[spec.dataset].splits == (checked.split,)
    assert checked.network == spec.network and ":" not in examples_name(checked)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("{own}:scoer", "There is no name in {own} 'scoer'; did you mean 'score'?"),
        ("{own}:Nets.big", "There is no name in {own}.Nets 'big'; did you mean"),
        ("no_such_package.nets:small", "there is no module 'no_such_package'"),
        ("{own}_broken:net", "its module '{own}_broken' failed with ZeroDivisionError: division by zero"),
        ("{own}_needy:net", "its module needs 'no_such_module', which is missing"),
        ("{own}:", "is no import path; it should look like 'package.module:name'"),
        ("a b:c", "is no import path"),
        ("../up:net", "is no import path"),
    ],
)
def test_a_refusal_says_which_part_failed(own_module: str, path: str, sentence: str) -> None:
    with trusting(), pytest.raises(PruneScopeError) as refusal:
        imported_object(path.format(own=own_module))
    assert sentence.format(own=own_module) in str(refusal.value)


def test_an_object_that_is_no_network_data_or_score_is_refused(own_module: str) -> None:
    with trusting():
        for table, sentence in ((NETWORKS, "torch.nn.Module"), (DATASETS, "a Dataset"), (TECHNIQUES, "scores weights")):
            with pytest.raises(PruneScopeError, match=sentence):
                table[f"{own_module}:number"]
        with pytest.raises(PruneScopeError, match="returned int, not a Dataset"):
            DATASETS[f"{own_module}:data"].read(Path(), None)  # type: ignore[arg-type]


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(PruneScopeError, match="did you mean 'lenet'"):
        NETWORKS["lenett"]
