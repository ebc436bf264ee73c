"""One run from its spec to its record: train, prune, treat, level by level, resuming where it was left."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch

import engine
from engine.datasets.attributes import class_table, example_table
from engine.fairness.diagnostics import Diagnosis
from engine.fairness.lagrangian import Dual
from engine.pruning.masks import (
    Cut,
    EmptyLayer,
    Masks,
    apply_masks,
    count_all,
    count_kept,
    cut_masks,
    full_masks,
    prunable,
)
from engine.pruning.schedules import SCHEDULES, Step, check_gradual, gradual_sparsity, steps
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import Progress, RunSpec, Watcher
from engine.runs.checkpoints import load_outcome, load_states, save_outcome, save_states
from engine.runs.dense import Dense, dense_network
from engine.runs.level import computed, grouped_split, lesson_of, members_of, outcome_of
from engine.runs.workspace import Laboratory, open_laboratory
from engine.specs.checks import checked
from engine.specs.mitigation import mitigates
from engine.store.files import check_writable
from engine.store.parquet import to_parquet
from engine.store.run_tables import Outcome, row_tables, run_tables
from engine.store.study import Study, examples_name
from engine.training.device import processor
from engine.training.loop import mean_gradients, train_network
from engine.training.quantization import on_cpu, quantize_network, sizes
from engine.training.seeding import generator


@dataclass(frozen=True)
class Finished:
    """How a run ended: whether it was computed now or found, and why it stopped early, if it did."""

    key: str
    computed: bool
    stopped: str = ""


def run_experiment(
    spec: RunSpec, study: Study, root: Path, device: str = "auto", watch: Watcher = lambda progress: None
) -> Finished:
    """Compute a run and leave its record in the study; one that is there is not computed again."""
    spec = checked(spec)
    if study.has_run(spec.key):
        return Finished(spec.key, computed=False)
    lab = open_laboratory(spec, root, device)
    check_writable(study.path, _megabytes(spec, lab))
    keep_examples(study, spec, lab)
    dense = dense_network(spec, study, lab, watch)
    run = _Run(spec, study, lab, dense, watch)
    outcomes, seconds, stopped = run.levels()
    tables = run_tables(outcomes, lab.dataset.test.labels, len(lab.dataset.classes), spec.keep_scores)
    extra = {f"{kind}.parquet": to_parquet(rows, kind) for kind, rows in row_tables(outcomes).items()}
    extra |= run.checkpoints(len(outcomes))
    committed = study.write_run(spec, tables, _provenance(lab, seconds, stopped), extra)
    study.clear_work(spec.key)
    return Finished(spec.key, committed, stopped)


def keep_examples(study: Study, spec: RunSpec, lab: Laboratory) -> None:
    """Write the table of test examples and the class facts where the study does not have them yet."""
    if examples_name(spec) not in study.example_sets():
        study.write_examples(examples_name(spec), example_table(lab.dataset), class_table(lab.dataset))


class _Run:
    """The levels of one run, each kept as soon as it is finished."""

    def __init__(self, spec: RunSpec, study: Study, lab: Laboratory, dense: Dense, watch: Watcher) -> None:
        self.spec, self.lab, self.dense, self.watch = spec, lab, dense, watch
        self.folder = study.work_folder(spec.key)
        self.network = lab.new_network(spec)
        self.masks = full_masks(self.network)
        self.training = grouped_split(spec, lab) if mitigates(spec, 1) else lab.training
        self.diagnosis = Diagnosis(lab.training, [lab.grouping(name) for name in spec.diagnose], spec.seed)
        check_gradual(spec, lab.n_steps(spec, spec.n_epochs_after))

    def levels(self) -> tuple[list[Outcome], float, str]:
        """What each level came to, the seconds that all took, and why the run stopped early, if it did."""
        self.network.load_state_dict(self.dense.trained)
        dense = self._diagnosed(self.dense.outcome)
        if TECHNIQUES[self.spec.technique].quantizes:
            dense = replace(dense, sizes=(sizes(self.network.state_dict()),))
        self.members = members_of(self.spec, self.lab, self.network) if mitigates(self.spec, 1) else None
        kept, todo = self._resume()
        stopped = ""
        for step in todo:
            begun = computed(self.lab)
            self.reached = (kept[-1][0] if kept else dense).validation_accuracy
            try:
                lessons = self._reach(step)
            except EmptyLayer as layer:
                stopped = f"Level {step.level} would empty layer {layer}; level {step.level - 1} is the last."
                break
            outcome = replace(self._tested(step), lessons=lessons)
            seconds = computed(self.lab) - begun  # of diagnostics, which change nothing, none are counted
            kept.append((self._diagnosed(outcome), seconds))
            self._keep(*kept[-1])
        outcomes = [dense, *(outcome for outcome, _ in kept)]
        return outcomes, self.dense.seconds + sum(seconds for _, seconds in kept), stopped

    def checkpoints(self, n_levels: int) -> dict[str, bytes]:
        """The weights of every level, where the spec keeps them."""
        if not self.spec.keep_checkpoints:
            return {}
        names = {f"checkpoints/level-{level:03d}.safetensors" for level in range(1, n_levels)}
        return {name: (self.folder / name).read_bytes() for name in sorted(names)}

    def _resume(self) -> tuple[list[tuple[Outcome, float]], list[Step]]:
        """What the levels that are finished came to, with their seconds, and the steps still to do."""
        todo = steps(self.spec)
        states = load_states(self.folder / "state.safetensors", self.lab.device)
        level = int(states["level"]["level"]) if states else 0
        kept = [found for step in todo[:level] if (found := load_outcome(self._file(step.level)))]
        if states is None or len(kept) < level:
            return [], todo
        self.network.load_state_dict(states["weights"])
        self.masks = {name: states["masks"][name] for name in self.masks}
        return kept, todo[level:]

    def _tested(self, step: Step) -> Outcome:
        """What the network of this level says, in eight bits where the technique asks for that."""
        way = TECHNIQUES[self.spec.technique].quantizes
        if not way:
            return outcome_of(self.network, self.lab, step, self.masks)
        made = quantize_network(self.network, way, self.lab.training)
        lab = replace(self.lab, test=on_cpu(self.lab.test), validation=on_cpu(self.lab.validation))
        return replace(outcome_of(made.network, lab, step, self.masks), sizes=(sizes(made.tensors),))

    def _diagnosed(self, outcome: Outcome) -> Outcome:
        """The outcome of the network as it is now, with its diagnostics where the spec asks for them."""
        rows = self.diagnosis.rows(self.network, outcome, self.lab.dataset.test.labels)
        return replace(outcome, groups=rows) if rows else outcome

    def _reach(self, step: Step) -> Sequence[dict[str, Any]]:
        """Prune, treat and train the network up to this step; what mitigation noted comes back."""
        spec, cut_while_training = self.spec, self.spec.schedule == "gradual"
        if not spec.n_epochs_after:  # nothing is cut or trained: the network is still the dense one
            return ()
        if SCHEDULES[spec.schedule].starts == "dense":
            self.network.load_state_dict(self.dense.trained)
            self.masks = full_masks(self.network)
        draw = generator(spec.seed, step.level, "prune")
        if not cut_while_training:
            self.masks = self._cut(step.share, draw)
        if spec.treatment == "rewind":
            self.network.load_state_dict(self.dense.initial)
        apply_masks(self.network, self.masks)

        def on_step(done: int) -> Masks | None:
            sparsity = gradual_sparsity(spec, step.sparsity, done) if cut_while_training else None
            if sparsity is None:
                return None
            kept = count_kept(self.masks) / count_all(self.masks)
            self.masks = self._cut(max(0.0, 1 - (1 - sparsity) / kept), draw)
            return self.masks

        dual = Dual(spec, self.members) if self.members else None
        lesson = lesson_of(spec, step.level, spec.n_epochs_after, self._tell, on_step, dual)
        train_network(self.network, self.training, self.masks, lesson)
        return dual.rows if dual else ()

    def _tell(self, progress: Progress) -> None:
        self.watch(replace(progress, accuracy=self.reached))

    def _cut(self, share: float, draw: torch.Generator) -> Masks:
        row = TECHNIQUES[self.spec.technique]
        gradients = mean_gradients(self.network, self.lab.training) if row.needs_gradient else None
        return cut_masks(prunable(self.network), self.masks, Cut(row, share, draw, self.spec.weight_decay), gradients)

    def _keep(self, outcome: Outcome, seconds: float) -> None:
        """Make this level the one that the run resumes from: what it said first, then where it stands."""
        save_outcome(self._file(outcome.level), outcome, seconds)
        weights = self.network.state_dict()
        if self.spec.keep_checkpoints:
            save_states(self.folder / f"checkpoints/level-{outcome.level:03d}.safetensors", {"weights": weights})
        states = {"weights": weights, "masks": self.masks, "level": {"level": torch.tensor(outcome.level)}}
        save_states(self.folder / "state.safetensors", states)

    def _file(self, level: int) -> Path:
        return self.folder / f"level-{level:03d}.outcome"


def _megabytes(spec: RunSpec, lab: Laboratory) -> float:
    """Room that the run needs while it works and when it is kept, about."""
    weights = 4e-6 * sum(tensor.numel() for tensor in lab.new_network(spec).state_dict().values())
    said = 20e-6 * len(lab.test) * (spec.n_levels + 1)
    return 2 * said + weights * (5 + 2 * spec.n_levels * spec.keep_checkpoints)


def _provenance(lab: Laboratory, seconds: float, stopped: str) -> dict[str, object]:
    return {
        "engine": engine.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "device": lab.device.type,
        "processor": processor(lab.device.type),
        "seconds": round(seconds, 1),
        "stopped": stopped,
    }
