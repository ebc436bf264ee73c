"""One run from its spec to its record: train, prune, treat, level by level, resuming where it was left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from engine.fairness.diagnostics import Diagnosis
from engine.fairness.lagrangian import negative_weights
from engine.fairness.reweighting import mitigated_training
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
from engine.pruning.schedules import (
    SCHEDULES,
    TREATMENTS,
    PlannedLevel,
    check_gradual,
    gradual_sparsity,
    n_epochs_after,
    planned_levels,
)
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import Progress, RunSpec, Watcher
from engine.runs.checkpoints import is_own_step, step_state
from engine.runs.dense import Dense, dense_network, early_weights
from engine.runs.kept_examples import keep_examples
from engine.runs.level import (
    AfterCut,
    after_cut,
    compute_seconds,
    constrained_groups,
    grouped_split,
    judging_split,
    level_result,
)
from engine.runs.lottery import control_masks, starting_weights
from engine.runs.provenance import provenance_of
from engine.runs.work_files import WorkFiles
from engine.runs.workspace import Workspace, open_workspace
from engine.specs.checks import validate_spec
from engine.specs.mitigation import mitigates
from engine.store.files import check_writable
from engine.store.group_losses import MOST_GROUPS, loss_rows
from engine.store.parquet import to_parquet
from engine.store.run_files import checkpoint_name
from engine.store.run_tables import LevelResult, row_tables, run_tables
from engine.store.study import Study
from engine.store.validation import VALIDATION, validation_table
from engine.training.compaction import compacts
from engine.training.costs import file_sizes, level_costs
from engine.training.device import pick_device, reproducible
from engine.training.evaluation import group_importances, mean_gradients
from engine.training.fused.step_choice import step_name
from engine.training.layer_maps import layer_grams
from engine.training.loop import TrainingJob, train_network
from engine.training.quantization import on_cpu, quantize_network
from engine.training.seeding import generator


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: whether it was computed now or found, why it stopped early, if it did, and a warning.

    `mended` says which files of its work were damaged and made again.
    """

    key: str
    computed: bool
    stopped: str = ""
    warned: str = ""
    mended: str = ""


def run_experiment(
    spec: RunSpec, study: Study, root: Path, device: str = "auto", watch: Watcher = lambda progress: None
) -> RunOutcome:
    """Compute a run and leave its record in the study; one that is there is not computed again."""
    spec = validate_spec(spec)
    if study.has_run(spec.key):
        return RunOutcome(spec.key, computed=False)
    with reproducible(pick_device(device)):
        return _computed(spec, study, open_workspace(spec, root, device), watch)


def _computed(spec: RunSpec, study: Study, workspace: Workspace, watch: Watcher) -> RunOutcome:
    """Compute a run that the study does not have and leave its record there."""
    check_writable(study.path, _megabytes(spec, workspace))
    keep_examples(study, spec, workspace)
    dense = dense_network(spec, study, workspace, watch)
    run = _Run(spec, study, workspace, dense, watch)
    results, seconds, stopped = run.levels()
    dataset, n_classes = workspace.dataset, len(workspace.dataset.classes)
    tables = run_tables(results, dataset.test.labels, n_classes, spec.keep_scores)
    validation = validation_table(results, workspace.validation_rows, dataset.train.labels, n_classes)
    more = {**row_tables(results), VALIDATION: validation}
    extra = {f"{kind}.parquet": to_parquet(rows, kind) for kind, rows in more.items()}
    extra |= run.checkpoints(len(results))
    step = step_name(run.network) if spec.precision == "full" else f"eager ({spec.precision} precision)"
    step = step if spec.optimizer == "sgd" else f"eager ({spec.optimizer})"
    provenance = provenance_of(workspace, step, seconds, stopped) | run.way_of_training()
    committed = study.write_run(spec, tables, provenance, extra)
    study.clear_work(spec.key)
    warned = negative_weights([row for result in results for row in result.multipliers])
    return RunOutcome(spec.key, committed, stopped, warned, " ".join(filter(None, (dense.mended, run.mended))))


class _Run:
    """The levels of one run, each kept as soon as it is finished."""

    def __init__(self, spec: RunSpec, study: Study, workspace: Workspace, dense: Dense, watch: Watcher) -> None:
        self.spec, self.workspace, self.dense, self.watch = spec, workspace, dense, watch
        self.work = WorkFiles(study.work_folder(spec.key), spec.key, spec.keep_checkpoints)
        self.mended = ""
        self.network = workspace.new_network(spec)
        self.masks = full_masks(self.network)
        self.training = grouped_split(spec, workspace) if mitigates(spec, 1) else workspace.training
        self.diagnosis = Diagnosis(workspace.training, [workspace.grouping(name) for name in spec.diagnose], spec.seed)
        self.groupings = workspace.groupings(MOST_GROUPS)
        self.after_cut: AfterCut | None = None
        check_gradual(spec, workspace.n_steps(spec, n_epochs_after(spec)))
        self.early = early_weights(spec, workspace, dense) if spec.treatment != "finetune" else {}
        rewinding = replace(spec, treatment="rewind", diagnose=())
        is_control = TREATMENTS[spec.treatment].controls
        self.ticket = _Run(rewinding, study, workspace, dense, watch) if is_control else None
        """Of a control of rewinding, the run that rewinds and makes its masks."""

    def levels(self) -> tuple[list[LevelResult], float, str]:
        """What each level came to, the seconds that all took, and why the run stopped early, if it did."""
        self.network.load_state_dict(self.dense.trained)
        dense = self._recorded(self.dense.result)
        self.members = constrained_groups(self.spec, self.workspace, self.network) if mitigates(self.spec, 1) else None
        kept, todo = self._resume()
        stopped = ""
        for step in todo:
            begun = compute_seconds(self.workspace)
            self.reached = (kept[-1][0] if kept else dense).validation_accuracy
            try:
                multipliers = self._reach(step)
            except EmptyLayer as layer:
                stopped = f"Level {step.level} would empty layer {layer}; level {step.level - 1} is the last."
                break
            result = replace(self._tested(step), multipliers=multipliers)
            seconds = compute_seconds(self.workspace) - begun  # of diagnostics, which change nothing, none are counted
            kept.append((self._recorded(result), seconds))
            cut = self.ticket or self
            states = {"weights": cut.network.state_dict(), "masks": cut.masks, "step": step_state(self.network)}
            self.work.keep(*kept[-1], self.network.state_dict(), states)
        results = [dense, *(result for result, _ in kept)]
        return results, self.dense.seconds + sum(seconds for _, seconds in kept), stopped

    def checkpoints(self, n_levels: int) -> dict[str, bytes]:
        """The weights of every level, where the spec keeps them."""
        if not self.spec.keep_checkpoints:
            return {}
        return {checkpoint_name(level): self.work.checkpoint(level) for level in range(1, n_levels)}

    def way_of_training(self) -> dict[str, object]:
        """For the provenance: whether levels trained on what pruning leaves; nothing where they had masks."""
        return {"training": "compacted"} if compacts(self.spec, self.network, self.workspace.training) else {}

    def _resume(self) -> tuple[list[tuple[LevelResult, float]], list[PlannedLevel]]:
        """What the levels that are finished came to, with their seconds, and the steps still to do."""
        todo = planned_levels(self.spec)
        left = self.work.resume([step.level for step in todo], self.workspace.device)
        self.mended = left.words
        is_whole = all(result.losses and result.sizes for result, _ in left.results)
        if not left.results or not is_whole or not is_own_step(left.states, self.network):
            return [], todo
        cut = self.ticket or self
        cut.network.load_state_dict(left.states["weights"])
        cut.masks = {name: left.states["masks"][name] for name in cut.masks}
        return left.results, todo[len(left.results) :]

    def _tested(self, step: PlannedLevel) -> LevelResult:
        """What the network of this level says, in eight bits where the technique asks for that."""
        way = TECHNIQUES[self.spec.technique].quantizes
        if not way:
            return level_result(self.network, self.workspace, step, self.masks)
        workspace = replace(
            self.workspace, test=on_cpu(self.workspace.test), validation=on_cpu(self.workspace.validation)
        )
        quantized = quantize_network(self.network, way, self.workspace.training)
        costs = {**self._costs(), **file_sizes(quantized.tensors)}
        return replace(level_result(quantized.network, workspace, step, self.masks), sizes=(costs,))

    def _costs(self) -> dict[str, float]:
        """What the network as it is now costs whoever runs it."""
        shown = self.workspace.test
        return level_costs(self.network, shown.inputs(shown.images[:2]))

    def _recorded(self, result: LevelResult) -> LevelResult:
        """The result of the network as it is now, with costs, groups' losses, and diagnostics where the spec asks."""
        labels, cut = self.workspace.dataset.test.labels, self.after_cut
        rows = self.diagnosis.rows(self.network, result, labels, cut.samples if cut else None)
        losses = loss_rows(self.groupings, labels, result, cut.tested if cut else None)
        return replace(result, losses=losses, groups=rows or (), sizes=result.sizes or (self._costs(),))

    def _reach(self, step: PlannedLevel) -> Sequence[dict[str, Any]]:
        """Prune, treat and train the network up to this step; what mitigation noted comes back."""
        spec, self.after_cut = self.spec, None
        cut_while_training = spec.schedule == "gradual" and self.ticket is None
        if not n_epochs_after(spec):  # nothing is cut or trained: the network is still the dense one
            return ()
        if SCHEDULES[spec.schedule].starts == "dense":
            self.network.load_state_dict(self.dense.trained)
            self.masks = full_masks(self.network)
        draw = generator(spec.seed, step.level, "prune")
        if self.ticket is not None:
            self.masks = self._masks_of_ticket(self.ticket, step)
        elif not cut_while_training:
            self.masks = self._cut(step.share, draw)
            apply_masks(self.network, self.masks)
            self.after_cut = after_cut(self.network, self.workspace, self.diagnosis)
        if (start := starting_weights(spec, step.level, self.workspace, self.early)) is not None:
            self.network.load_state_dict(start)
        apply_masks(self.network, self.masks)

        def on_step(done: int) -> Masks | None:
            sparsity = gradual_sparsity(spec, step.sparsity, done) if cut_while_training else None
            if sparsity is None:
                return None
            kept = count_kept(self.masks) / count_all(self.masks)
            self.masks = self._cut(max(0.0, 1 - (1 - sparsity) / kept), draw)
            return self.masks

        mitigated = mitigated_training(spec, self.members) if self.members else None
        order, judge = generator(spec.seed, step.level, "order"), judging_split(spec, self.workspace)
        tell = partial(self._tell, step.level)
        job = TrainingJob(spec, n_epochs_after(spec), order, tell, on_step, mitigated, judge)
        train_network(self.network, self.training, self.masks, job)
        return mitigated.rows if mitigated else ()

    def _masks_of_ticket(self, ticket: "_Run", step: PlannedLevel) -> Masks:
        ticket.members, ticket.reached = self.members, self.reached
        if step.level == 1:
            ticket.network.load_state_dict(self.dense.trained)
        ticket._reach(step)
        draw = generator(self.spec.seed, step.level, "shuffle")
        return control_masks(self.spec, TECHNIQUES[self.spec.technique], ticket.masks, draw)

    def _tell(self, level: int, epoch: int) -> None:
        spec = self.spec
        n_levels, n_epochs = len(planned_levels(spec)), n_epochs_after(spec)
        self.watch(Progress(spec.key, level, n_levels, epoch, n_epochs, self.reached))

    def _cut(self, share: float, draw: torch.Generator) -> Masks:
        row = TECHNIQUES[self.spec.technique]
        training = self.workspace.training
        gradients = mean_gradients(self.network, training) if row.needs_gradient else None
        cut = Cut(row, share, draw, self.spec.weight_decay)
        if row.needs_maps:
            cut = replace(cut, grams=layer_grams(self.network, training, self.masks))
        if row.needs_groups:
            grouped = grouped_split(replace(self.spec, mitigated_group=self.spec.balanced_group), self.workspace)
            cut = replace(cut, importances=group_importances(self.network, grouped))
        return cut_masks(prunable(self.network), self.masks, cut, gradients)


def _megabytes(spec: RunSpec, workspace: Workspace) -> float:
    """Room that the run needs while it works and when it is kept, about."""
    n_weights: int = sum(tensor.numel() for tensor in workspace.new_network(spec).state_dict().values())
    n_levels = len(planned_levels(spec))
    predictions = (20e-6 * len(workspace.test) + 8e-6 * len(workspace.validation)) * (n_levels + 1)
    return 2 * predictions + 4e-6 * n_weights * (7 + 2 * n_levels * spec.keep_checkpoints)
