"""Which experiment a study opens with: the one whose evidence is clearest, by a rule fixed before looking at any test.

**The rule** looks at validation alone. In each experiment: the first technique and treatment of our tables that it has,
without mitigation; the sparsest level whose validation accuracy, the mean over seeds, is within `WITHIN` of the
baseline (the same training, unpruned, where it is recorded, else the dense network). There, the loss of every class and
every group of at least `FEWEST` validation images, paired by seed, with 95 % intervals that hold for all at once. The
largest of their low ends is the loss that is surely there. The experiment in which it is largest opens the study; of
equals, the first. Experiments of fewer than `SEEDS` seeds do not compete, and where nobody surely loses none is chosen.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from engine.analysis.example_columns import group_columns
from engine.analysis.uncertainty.simultaneous import max_t_interval
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import CONTROL, TECHNIQUES
from engine.run_spec import RunSpec
from engine.specs.experiment_names import OPENS, ExperimentName, experiment_of, quoted
from engine.store.files import write_file
from engine.store.study import Study, examples_name

WITHIN, FEWEST, SEEDS = 0.01, 20, 3


@dataclass(frozen=True)
class Evidence:
    """Of one experiment: the technique and level that were looked at, who loses most for sure there, and how much."""

    experiment: ExperimentName
    technique: str
    treatment: str
    level: int
    n_seeds: int
    who: str
    sure_loss: float


def opening_evidence(study: Study) -> list[Evidence]:
    """The evidence of every experiment that competes, the clearest first."""
    runs: dict[ExperimentName, list[RunSpec]] = {}
    for key in study.runs():
        spec = study.run_record(key).spec
        if spec.mitigation == "none" and study.has_validation(key):
            runs.setdefault(experiment_of(spec), []).append(spec)
    found = [evidence for specs in runs.values() if (evidence := _evidence(study, specs)) is not None]
    return sorted(found, key=lambda evidence: -evidence.sure_loss)


def write_opening(study: Study, experiment: ExperimentName) -> None:
    """Make this the experiment that the study opens with."""
    file = study.path / "study.toml"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    kept = re.sub(rf"\n*^\[{OPENS}\]\n(?:\w+ = .*\n)*", "\n", text, flags=re.MULTILINE).rstrip()
    lines = [f"{key} = {quoted(value)}" for key, value in asdict(experiment).items() if key != "name"]
    write_file(file, "\n".join([kept, "", f"[{OPENS}]", *lines, ""]).lstrip().encode())


def _evidence(study: Study, specs: Sequence[RunSpec]) -> Evidence | None:
    known = [s for s in specs if s.technique in TECHNIQUES and s.treatment in TREATMENTS]
    pruned = [s for s in known if TECHNIQUES[s.technique].cuts != "nothing"]
    if not pruned:
        return None
    techniques, treatments = list(TECHNIQUES), list(TREATMENTS)
    first = min(pruned, key=lambda s: (techniques.index(s.technique), treatments.index(s.treatment)))
    chosen = [s for s in pruned if (s.technique, s.treatment) == (first.technique, first.treatment)]
    controls = {s.seed: s for s in specs if s.technique == CONTROL and first.treatment == "finetune"}
    chosen.sort(key=lambda s: s.seed)
    if len(chosen) < SEEDS:
        return None
    pairs = [_Pair(study, spec, controls.get(spec.seed)) for spec in chosen]
    common = set.intersection(*(set(pair.levels) for pair in pairs)) - {0}
    kept = [level for level in common if np.mean([pair.loss(level) for pair in pairs]) <= WITHIN]
    if not kept:
        return None
    parties = [dict(pair.losses(max(kept))) for pair in pairs]
    names = [name for name in parties[0] if all(name in other for other in parties)]
    losses = np.array([[party[name] for name in names] for party in parties])
    sure = max_t_interval(losses)[0]
    worst = int(np.argmax(sure))
    experiment = experiment_of(first)
    return Evidence(
        experiment, first.technique, first.treatment, max(kept), len(pairs), names[worst], float(sure[worst])
    )


class _Pair:
    """A run and its baseline on the run's own validation split: which images each gets right, level by level."""

    def __init__(self, study: Study, spec: RunSpec, control: RunSpec | None) -> None:
        levels, predictions, rows = study.validation(spec.key)
        self.images = study.training_examples(examples_name(spec)).iloc[rows]
        labels = self.images["label"].to_numpy()
        self.right: dict[int, np.ndarray] = dict(zip(levels.tolist(), predictions == labels, strict=True))
        self.baseline: dict[int, np.ndarray] = dict.fromkeys(self.right, self.right[0])
        if control is not None:
            at, said, _ = study.validation(control.key)
            self.baseline = dict(zip(at.tolist(), said == labels, strict=True))
        self.levels = sorted(self.right.keys() & self.baseline.keys())
        self.names = study.class_facts(examples_name(spec)).set_index("class")["name"]

    def loss(self, level: int) -> float:
        """How much less accurate than its baseline the run is at this level."""
        return float(self.baseline[level].mean() - self.right[level].mean())

    def losses(self, level: int) -> Iterator[tuple[str, float]]:
        """The same for every class and group of enough images."""
        columns = {"class": self.images["label"].map(self.names)}
        columns |= {name: self.images[name] for name in group_columns(self.images)}
        change = pd.Series(self.baseline[level].astype(float) - self.right[level], index=self.images.index)
        for column, values in columns.items():
            for name, members in change.groupby(values.astype(str)):
                if len(members) >= FEWEST:
                    yield f"{column} {name}", float(members.mean())


def named(evidence: Evidence, names: Mapping[tuple[str, ...], str]) -> Evidence:
    """The evidence with the short name that the study gives its experiment."""
    place = tuple(asdict(evidence.experiment).values())[:-1]
    return replace(evidence, experiment=replace(evidence.experiment, name=names.get(place, "")))
