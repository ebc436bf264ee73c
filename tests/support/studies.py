"""Made-up studies with a planted pattern, written through the store as a sweep would; nothing is trained.

Planted: later classes, later groups and tilted writing lose more the sparser the network, under later techniques more
than under earlier ones.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.run_spec import RunSpec
from engine.store.files import write_file
from engine.store.run_tables import LevelResult, run_tables
from engine.store.study import Study, examples_name

N_WEIGHTS = 10_000
PROVENANCE: dict[str, Any] = {"engine": "0.1.0", "device": "cpu", "seconds": 1.5, "torch": "none"}


@dataclass(frozen=True)
class Plan:
    """What a made-up study holds; names may be any text, for a study may come from elsewhere."""

    seeds: int = 3
    techniques: Sequence[str] = ("global_unstructured", "random_unstructured")
    treatments: Sequence[str] = ("rewind", "finetune")
    levels: int = 6
    classes: Sequence[str] = tuple("0123456789")
    groups: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"series": ("hsf0", "hsf4")})
    """Grouping -> names of its groups."""
    writers: int = 24
    """Members of the grouping `writer`; 0 leaves the column out."""
    examples: int = 480
    without_examples: Sequence[int] = ()
    """Classes that no test example has."""
    dense: bool = True
    """Whether the runs have a level 0."""
    losses: bool = True
    dataset: str = "qmnist"
    split: str = "writers"
    network: str = "lenet"
    mitigation: str = "none"
    title: str = "A made-up study"
    description: str = ""
    random: int = 0


def make_study(path: str | Path, **settings: Any) -> Study:
    """A study in this folder, by the fields of `Plan`; the same settings give the same bytes."""
    plan, study = Plan(**settings), Study(path)
    (study.path / "runs").mkdir(parents=True, exist_ok=True)
    title = "".join(f"{name} = {_toml(text)}\n" for name, text in _info(plan).items())
    write_file(study.path / "study.toml", title.encode())
    examples = made_examples(plan)
    for number, technique in enumerate(plan.techniques):
        for treatment in plan.treatments:
            for seed in range(plan.seeds):
                spec = _spec(plan, technique, treatment, seed)
                study.write_examples(examples_name(spec), examples, made_classes(plan, examples))
                hardness = (1 + number) * (1.0 if treatment == plan.treatments[0] else 1.3)
                outcomes = made_outcomes(plan, examples, hardness, seed)
                tables = run_tables(outcomes, examples["label"].to_numpy(), len(plan.classes), keep_scores=True)
                study.write_run(spec, tables, PROVENANCE)
    return study


def made_examples(plan: Plan) -> pd.DataFrame:
    """One row per test example: label, groups, writer, attributes of its image."""
    rng = np.random.default_rng(plan.random)
    n = plan.examples
    there = np.setdiff1d(np.arange(len(plan.classes)), plan.without_examples)
    table = pd.DataFrame({"example": np.arange(n), "label": rng.permutation(there[np.arange(n) % len(there)])})
    writer = np.arange(n) % max(plan.writers, 1)
    for place, (grouping, names) in enumerate(plan.groups.items()):
        table[grouping] = np.array(names, object)[(writer if not place else rng.permutation(n)) % len(names)]
    if plan.writers:
        table["writer"] = writer + 2000
    tilt = (writer / max(plan.writers, 1) - 0.5) + rng.normal(0, 0.1, n)
    attributes = {"tilt": tilt, "abs_tilt": np.abs(tilt), "activation": rng.uniform(0.05, 0.2, n)}
    return table.assign(**attributes, distance=rng.uniform(4, 8, n), entropy=rng.uniform(0.9, 2, n))


def made_classes(plan: Plan, examples: pd.DataFrame) -> pd.DataFrame:
    """One row per class: name, counts, mean entropy."""
    number = np.arange(len(plan.classes))
    n_test = np.bincount(examples["label"], minlength=len(number))
    entropy = np.linspace(0.9, 1.9, len(number))
    return pd.DataFrame(
        {
            "class": number,
            "name": list(plan.classes),
            "n_train": 3000 - 100 * number,
            "n_test": n_test,
            "entropy": entropy,
        }
    )


def made_outcomes(plan: Plan, examples: pd.DataFrame, hardness: float, seed: int) -> list[LevelResult]:
    """Every level of one run: an example is wrong once its chance of an error exceeds what the seed drew for it."""
    rng = np.random.default_rng([plan.random, seed])
    labels, n_classes = examples["label"].to_numpy(), len(plan.classes)
    drawn, step = rng.random(len(labels)), rng.integers(1, max(n_classes, 2), len(labels))
    share = labels / max(n_classes - 1, 1)
    burden = 0.3 + share + 0.5 * examples["abs_tilt"].to_numpy()
    for grouping, names in plan.groups.items():
        places = {name: place for place, name in enumerate(names)}
        burden = burden + 0.4 * examples[grouping].map(places).to_numpy() / max(len(names) - 1, 1)
    outcomes = []
    for level in range(0 if plan.dense else 1, plan.levels + 1):
        n_kept = round(N_WEIGHTS * 0.6**level)
        sparsity = 1 - n_kept / N_WEIGHTS
        chance = np.clip(0.01 + 0.03 * share + 0.12 * hardness * sparsity**4 * burden, 0, 0.95)
        wrong = drawn < chance
        prediction = np.where(wrong & (n_classes > 1), (labels + step) % n_classes, labels)
        loss = -np.log(1 - chance) if plan.losses else np.full(len(labels), np.nan)
        accuracy = float((prediction == labels).mean())
        scores = (1 - chance, 1 - 2 * chance, loss)
        outcomes.append(LevelResult(level, sparsity, N_WEIGHTS, n_kept, accuracy, prediction, *scores))
    return outcomes


def _spec(plan: Plan, technique: str, treatment: str, seed: int) -> RunSpec:
    return RunSpec(
        plan.dataset,
        plan.network,
        technique,
        treatment,
        seed,
        split=plan.split,
        share=0.4,
        levels=plan.levels,
        epochs=1,
        mitigation=plan.mitigation,
    )


def _info(plan: Plan) -> dict[str, str]:
    return {"title": plan.title, "description": plan.description}


def _toml(text: str) -> str:
    """The text as a basic string of TOML: JSON's escapes are TOML's."""
    return json.dumps(text).replace("\x7f", "\\u007f")
