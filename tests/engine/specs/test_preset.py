"""Presets: what ships is what the papers did, and a mistake is said with its line before anything runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.specs.checks import validate_spec
from engine.specs.experiment_names import experiment_of
from engine.specs.preset import load_preset, preset_names, read_preset
from engine.store.study import Study

TEXT = """title = "Two grids"
description = "digits, lenet and more"
# networks = ["none of these lines counts"]
[[grid]]
datasets = ["digits"]
networks = ["lenet"]
techniques = ["l1_structured"]
seeds = [0]

[[grid]]
datasets = [
  "digits",
  "mnist",
]
networks = ["lenet"]
techniques = ["l1_unstructured", "gradient"]
treatments = ["rewind"]
schedules = ["oneshot"]
seeds = [0, 1]
[grid.protocol]
epochs = 3
sparsities = [0.5, 0.9]
weight_decay = 1
"""
SIZES = {
    "paper": (8 * 4 * 7 * 2 * 6, 8 * 4 * 7 * 2 * 6 * 21),
    "paper-qmnist": (6, 6 * 21),
    "paper-alexnet": (4 * 6, 4 * 6 * 21),
    "quick": (3 * 2 * 3, 3 * 2 * 3 * 13),
    "demo": (755, 7473),
    "demo-0.1": (396, 4074),
    "recall-distortion": ((2 + 5 * 2 + 2 + 2) * 30, (2 + 5 * 2 + 2 + 2) * 30 * 6),
    "hooker": (3 * 30, 30 * 7 + 2 * 30 * 2),
    "tran": ((2 + 4 + 4 + 2 * 4 + 4 + 2 * 4) * 10, (2 + 4 + 4 + 2 * 4 + 4 + 2 * 4) * 10 * 5),
}


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_that_ships_is_sound(name: str) -> None:
    preset = load_preset(name)
    assert preset.title and preset.description and preset.specs
    assert all(validate_spec(spec) == spec for spec in preset.specs)
    assert len({spec.key for spec in preset.specs}) == len(preset.specs)
    size = (len(preset.specs), sum(len(planned_levels(spec)) + 1 for spec in preset.specs))
    assert size == SIZES[name]
    if name.startswith("paper"):
        assert {(s.epochs, s.levels, s.share, s.batch_size, s.learning_rate, s.crop, s.flip) for s in preset.specs} == {
            (30, 20, 0.2, 32, 0.01, 4, True)
        }


def test_every_paper_has_a_preset() -> None:
    assert {"paper", "paper-qmnist", "paper-alexnet", "recall-distortion", "hooker", "tran"} <= set(preset_names())


def test_paganini_s_data_are_as_the_paper_had_them() -> None:
    specs = load_preset("paper").specs
    assert {spec.split for spec in specs} == {"official"}
    assert {spec.key for spec in load_preset("paper-qmnist").specs} < {spec.key for spec in specs}
    datasets = {spec.dataset for spec in specs}
    assert len(datasets) == 8 and "emnist-byclass-as-stored" in datasets and "emnist-byclass" not in datasets


def test_good_s_cells_are_those_of_the_paper() -> None:
    cells = {(spec.dataset, spec.network, spec.technique) for spec in load_preset("recall-distortion").specs}
    assert len(cells) == 16
    resnets = [spec for spec in load_preset("recall-distortion").specs if spec.network != "lenet"]
    assert {(spec.epochs, spec.epochs_after, spec.batch_size, spec.weight_decay) for spec in resnets} == {
        (60, 15, 128, 0.0005)
    }
    assert {spec.rate_schedule for spec in resnets} == {"step"}
    assert {spec.kept_epoch for spec in load_preset("recall-distortion").specs} == {"best"}
    assert {technique for _, network, technique in cells if network == "resnet56"} == {
        "global_unstructured",
        "gradient",
        "undecayed",
        "global_random",
    }


def test_hooker_s_networks_are_cut_while_they_train_from_their_first_weights() -> None:
    pruned = [spec for spec in load_preset("hooker").specs if spec.technique == "l1_unstructured"]
    assert {(spec.schedule, spec.treatment) for spec in pruned} == {("gradual", "rewind")}
    assert {(spec.begin_step, spec.end_step, spec.every_steps) for spec in pruned} == {(1000, 9000, 500)}
    n_trained = int(162_770 * (1 - pruned[0].validation))
    assert pruned[0].epochs * -(-n_trained // pruned[0].batch_size) == 10_180


def test_tran_s_tables_and_figures_have_their_arms() -> None:
    specs = load_preset("tran").specs
    assert {spec.seed for spec in specs} == set(range(10))
    ages = {spec.mitigation for spec in specs if spec.diagnose == ("age",)}
    assert ages == {"none", "before", "after", "both"}
    assert {spec.constraint for spec in specs if spec.network == "lenet" and spec.dataset == "mnist"} == {
        "loss",
        "full",
    }


def test_a_grid_is_the_product_of_its_lists() -> None:
    preset = read_preset("mine", TEXT)
    assert len(preset.specs) == 1 + 2 * 2 * 2
    assert preset.specs[-1].sparsities == (0.5, 0.9)
    assert [spec.seed for spec in preset.specs] == [0, *[0] * 4, *[1] * 4]


def test_a_whole_number_for_a_setting_with_decimals_makes_the_same_key() -> None:
    ours = read_preset("mine", TEXT).specs[-1]
    assert ours.key == read_preset("mine", TEXT.replace("decay = 1", "decay = 1.0")).specs[-1].key
    assert isinstance(ours.weight_decay, float)


def test_the_same_run_in_two_grids_is_one() -> None:
    grid = TEXT[TEXT.index("[[grid]]") : TEXT.index("\n\n")]
    assert len(read_preset("mine", TEXT + grid).specs) == 9


@pytest.mark.parametrize(
    ("written", "instead", "line", "message"),
    [
        ('"mnist"', '"mnits"', 13, "There is no dataset 'mnits'; did you mean 'mnist'? Allowed: digits, mnist, "),
        ('"gradient"', '"gradients"', 16, "There is no technique 'gradients'; did you mean 'gradient'? Allowed: "),
        ('"rewind"', '"rewinding"', 17, "did you mean 'rewind'? Allowed: rewind, finetune, fresh, shuffled."),
        ('"oneshot"', '"one-shot"', 18, "Allowed: iterative, oneshot, gradual."),
        ("epochs = 3", "epoch = 3", 21, "There is no key 'epoch'; did you mean 'epochs'? Allowed: "),
        ("treatments", "treatment", 17, "did you mean 'treatments'? Allowed: seeds, datasets, "),
        ("[grid.protocol]", "[grid.protcol]", 20, "There is no key 'protcol'; did you mean 'protocol'?"),
        ("description", "subtitle", 2, "There is no key 'subtitle'"),
        ("epochs = 3", 'epochs = "3"', 21, "epochs is '3'; it should be a whole number."),
        ("epochs = 3", "epochs = true", 21, "epochs is True; it should be a whole number."),
        ("epochs = 3", "epochs = 0", 21, "epochs is 0; allowed is a number above 0."),
        ("epochs = 3", "flip = 1", 21, "flip is 1; it should be true or false."),
        ("epochs = 3", 'target = "age"', 21, "There is no target of digits 'age'"),
        ("epochs = 3", 'groups = ["writer"]', 21, "There is no group of digits 'writer'"),
        ("epochs = 3", 'split = "offical"', 21, "did you mean 'official'?"),
        ("epochs = 3", "image_size = 8", 21, "it needs 16 pixels a side or more"),
        ("epochs = 3", "levels = 3", 21, "levels has no meaning for the schedule 'oneshot'; it takes sparsities."),
        ("[0.5, 0.9]", "[0.9, 0.5]", 22, "it should be numbers between 0 and 1 that grow"),
        ("[0.5, 0.9]", '["half"]', 22, "it should be a list of numbers"),
        ("[0.5, 0.9]", "0.5", 22, "it should be a list of numbers"),
        ("weight_decay = 1", "weight_decay = 0", 16, "'gradient' needs a weight_decay above 0"),
        ("[0, 1]", "[]", 19, "seeds is []; it should be a list with a value or more."),
        ("[0, 1]", "7", 19, "seeds is 7; it should be a list with a value or more."),
        ("[0, 1]", '[0, "1"]', 19, "seeds has '1'; it should be a whole number."),
        ("[0, 1]", "[0, -1]", 19, "seed is -1; allowed is 0 or more."),
        ("seeds = [0, 1]\n", "", 10, "seeds is missing; it should be a list with a value or more."),
        ('"l1_unstructured"', "3", 16, "techniques has 3; it should be text."),
        ('title = "Two grids"', "title = 2", 1, "title is 2; it should be text."),
        ('title = "Two grids"', "", 1, "title is missing; it should be text."),
    ],
)
def test_a_mistake_is_said_with_its_line_and_what_is_allowed(
    written: str, instead: str, line: int, message: str
) -> None:
    assert written in TEXT
    with pytest.raises(PruneScopeError) as refused:
        read_preset("mine", TEXT.replace(written, instead))
    assert str(refused.value).startswith(f"Preset mine, line {line}: ")
    assert message in str(refused.value)


NAMED = """title = "Named"
[[grid]]
name = "Digits"
datasets = ["digits"]
networks = ["lenet"]
techniques = ["l1_structured", "l2_structured"]
seeds = [0, 1]
[[grid]]
name = "Digits"
datasets = ["digits"]
networks = ["lenet"]
techniques = ["random_structured"]
seeds = [0, 1]
"""


def test_grids_of_one_name_are_one_experiment_and_grow_in_seeds_together() -> None:
    preset = read_preset("mine", NAMED)
    assert [name.name for name in preset.names] == ["Digits"]
    assert {experiment_of(spec) for spec in preset.specs} == {replace(preset.names[0], name="")}
    assert [(spec.seed, spec.technique) for spec in preset.specs] == [
        (seed, technique) for seed in (0, 1) for technique in ("l1_structured", "l2_structured", "random_structured")
    ]
    assert read_preset("mine", TEXT).names == ()


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('name = "Digits"\ndatasets = ["digits"]', 'name = "Digits"\ndatasets = ["digits", "mnist"]', "more than one"),
        ('name = "Digits"', "name = 3", "name is 3; it should be text"),
        ('name = "Digits"', 'name = " "', "name is ' '; it should be text"),
        ('name = "Digits"', 'name = "Other"', "name is 'Digits'; the same experiment is 'Other' above"),
    ],
)
def test_a_name_is_of_one_experiment(written: str, instead: str, message: str) -> None:
    with pytest.raises(PruneScopeError, match=f"line [39]: .*{message}"):
        read_preset("mine", NAMED.replace(written, instead, 1))


def test_the_study_that_ships_names_its_experiments_in_the_order_in_which_they_are_wanted() -> None:
    preset = load_preset("demo")
    names = {replace(name, name=""): name.name for name in preset.names}
    wanted = [names[experiment_of(spec)] for spec in preset.specs]  # every run has one
    assert list(dict.fromkeys(wanted)) == [name.name for name in preset.names]
    for name in dict.fromkeys(wanted):
        seeds = [spec.seed for spec, called in zip(preset.specs, wanted, strict=True) if called == name]
        assert seeds == sorted(seeds)
        assert len(name) <= 40


def test_finetuned_networks_of_the_study_that_ships_have_controls_that_train_as_long() -> None:
    specs = load_preset("demo").specs
    finetuned = {(experiment_of(s), s.seed) for s in specs if s.treatment == "finetune" and s.technique != "unpruned"}
    assert finetuned == {(experiment_of(spec), spec.seed) for spec in specs if spec.technique == "unpruned"}


def test_rules_of_mitigation_stand_beside_no_mitigation_with_every_step_to_choose_from() -> None:
    specs = [spec for spec in load_preset("demo").specs if spec.technique == "global_unstructured"]
    mitigated = [spec for spec in specs if spec.mitigation != "none"]
    experiments = {experiment_of(spec) for spec in mitigated}
    assert {(spec.dataset, spec.target, spec.imbalance) for spec in mitigated} == {
        ("utkface", "gender", 1),
        ("utkface", "ethnicity", 1),
        ("fashion-mnist", "", 20),
    }
    steps = {(rule, eta) for rule in ("reweight", "worst") for eta in (0.05, 0.1, 0.2, 0.4)}
    for experiment in experiments:
        mine = [spec for spec in mitigated if experiment_of(spec) == experiment]
        assert {(spec.mitigation_rule, spec.eta) for spec in mine} == steps | {("lagrangian", 0.1)}
        assert {spec.mitigation for spec in mine} == {"both"} and 0.98 in mine[0].sparsities
        plain = {spec.seed for spec in specs if spec.mitigation == "none" and experiment_of(spec) == experiment}
        assert {spec.seed for spec in mine} == set(range(6)) <= plain


def test_the_runs_that_ship_are_those_of_a_preset() -> None:
    study = Study(Path(__file__).parents[3] / "data" / "demo")
    known = {spec.key for name in ("demo", "demo-0.1") for spec in load_preset(name).specs}
    assert study.info["preset"] in preset_names() and set(study.runs()) <= known


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "title is missing"),
        ('title = "a"', r"there is no \[\[grid\]\], so there is nothing to run"),
        ('title = "a"\ngrid = []', r"line 2: there is no \[\[grid\]\]"),
        ('title = "a"\n[grid]\nseeds = [1]', r"line 2: there is no \[\[grid\]\]"),
        ('title = "a"\n[[grid]]', "line 2: seeds is missing"),
        ('title = "a"\n[[grid]]\nprotocol = 3', "line 3: protocol is 3; it should be a table"),
        ('title = "a\n[[grid]]', "is not valid TOML: .*line 1"),
    ],
)
def test_an_empty_or_shapeless_preset_is_refused(text: str, message: str) -> None:
    with pytest.raises(PruneScopeError, match=message):
        read_preset("mine", text)


def test_a_file_of_ones_own_works_like_a_preset_that_ships(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TEXT)
    assert load_preset(str(tmp_path / "mine.toml")).specs == read_preset("mine", TEXT).specs
    with pytest.raises(PruneScopeError, match="There is no file"):
        load_preset(str(tmp_path / "other.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PruneScopeError, match="cannot be read"):
        load_preset(str(tmp_path / "bytes.toml"))
    with pytest.raises(PruneScopeError, match="There is no preset 'papre'; did you mean 'paper'"):
        load_preset("papre")


SHARED = """title = "Shared"
[protocols.short]
epochs = 2
levels = 1
[[grid]]
datasets = ["digits"]
networks = ["lenet"]
techniques = ["l1_structured"]
seeds = [0, 1]
[grid.protocol]
like = "short"
epochs = 3
[grid.vary]
learning_rate = [0.1, 0.2]
"""


def test_a_grid_is_like_a_shared_protocol_but_for_its_own_settings_and_varies_what_it_lists() -> None:
    specs = read_preset("mine", SHARED).specs
    assert [(spec.seed, spec.learning_rate) for spec in specs] == [(0, 0.1), (0, 0.2), (1, 0.1), (1, 0.2)]
    assert {(spec.epochs, spec.levels) for spec in specs} == {(3, 1)}


@pytest.mark.parametrize(
    ("written", "instead", "line", "message"),
    [
        ('like = "short"', 'like = "shirt"', 11, "There is no protocol 'shirt'; did you mean 'short'?"),
        ("levels = 1", "level = 1", 4, "There is no key 'level'; did you mean 'levels'?"),
        ("[protocols.short]\nepochs = 2\nlevels = 1", "protocols = 3", 2, "protocols should be tables of settings"),
        ("[0.1, 0.2]", "[]", 14, "learning_rate is []; it should be a list with a value or more."),
        ("[0.1, 0.2]", '[0.1, "0.2"]', 14, "learning_rate is '0.2'; it should be a number."),
        ("[grid.vary]\nlearning_rate", "[grid.vary]\nepochs", 12, "epochs is varied and has a value in the protocol"),
        ("[grid.vary]\nlearning_rate", "[grid.vary]\nlearning", 14, "did you mean 'learning_rate'?"),
        ("[grid.vary]\nlearning_rate = [0.1, 0.2]", "vary = 2", 13, "There is no key 'vary'"),
    ],
)
def test_a_mistake_in_what_grids_share_or_vary_is_said_with_its_line(
    written: str, instead: str, line: int, message: str
) -> None:
    assert written in SHARED
    with pytest.raises(PruneScopeError) as refused:
        read_preset("mine", SHARED.replace(written, instead))
    assert str(refused.value).startswith(f"Preset mine, line {line}: ")
    assert message in str(refused.value)
