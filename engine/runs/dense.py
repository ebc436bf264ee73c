"""The dense network that runs start from: trained once, then shared by all runs that begin alike."""

import time
from dataclasses import dataclass, replace

from engine.fairness.lagrangian import Dual
from engine.pruning.masks import full_masks
from engine.pruning.schedules import Step
from engine.run_spec import RunSpec, Watcher
from engine.runs.checkpoints import State, load_outcome, load_states, save_outcome, save_states
from engine.runs.level import computed, grouped_split, lesson_of, members_of, outcome_of
from engine.runs.workspace import Laboratory
from engine.specs.mitigation import mitigates
from engine.store.claims import claim
from engine.store.run_tables import Outcome
from engine.store.study import Study
from engine.training.loop import train_network


@dataclass(frozen=True)
class Dense:
    """The trained network that runs start from, its weights at initialisation, and what it said."""

    initial: State
    trained: State
    outcome: Outcome
    seconds: float


def dense_network(spec: RunSpec, study: Study, lab: Laboratory, watch: Watcher) -> Dense:
    """The dense network of a run: found in the study, or trained and left there for the runs that share it."""
    while (dense := _kept_dense(spec, study, lab)) is None:
        with claim(study.path / "claims", f"dense-{spec.dense_key}") as ours:
            if ours:
                _train_dense(spec, study, lab, watch)
            else:
                time.sleep(0.5)
    return dense


def _kept_dense(spec: RunSpec, study: Study, lab: Laboratory) -> Dense | None:
    path = study.dense_file(spec.dense_key)
    states, kept = load_states(path, lab.device), load_outcome(path.with_suffix(".outcome"))
    return Dense(states["initial"], states["trained"], *kept) if states is not None and kept is not None else None


def _train_dense(spec: RunSpec, study: Study, lab: Laboratory, watch: Watcher) -> None:
    path = study.dense_file(spec.dense_key)
    begun = computed(lab)
    network = lab.new_network(spec)
    initial = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    masks = full_masks(network)
    dual = Dual(spec, members_of(spec, lab)) if mitigates(spec, 0) else None
    lesson = lesson_of(spec, 0, spec.epochs, watch, objective=dual)
    train_network(network, grouped_split(spec, lab) if dual else lab.training, masks, lesson)
    outcome = replace(outcome_of(network, lab, Step(0, 0.0, 0.0), masks), lessons=dual.rows if dual else ())
    save_states(path, {"initial": initial, "trained": network.state_dict()})
    save_outcome(path.with_suffix(".outcome"), outcome, computed(lab) - begun)
