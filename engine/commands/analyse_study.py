"""`analyse`: what takes too long for a page, computed once and kept in the study."""

import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.columns import EXPERIMENT, VARIANT
from engine.analysis.example_columns import attribute_columns, member_columns
from engine.analysis.members.accuracy import member_accuracy, nesting_columns
from engine.api.opening import SEEDS, named, opening_evidence, write_opening
from engine.errors import PruneScopeError
from engine.specs.experiment_names import names_in_study
from engine.store import catalog
from engine.store.analyses import KeptAnalysis, mixed_logit_spec, read_analysis, write_analysis
from engine.store.study import Study, examples_name


@dataclass(frozen=True, eq=False)
class Comparison:
    """One variant at one level beside what it is compared with: predictions (seeds, examples) each."""

    name: str
    examples: str
    before: np.ndarray
    after: np.ndarray
    notes: dict[str, Any]


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `analyse`."""
    parser = commands.add_parser("analyse", help="who surely loses: mixed logits of writers, kept for the page Writers")
    parser.add_argument("--study", required=True, help="folder of the study")
    parser.add_argument("--only", action="append", default=[], metavar="COLUMN=VALUE", help="such as dataset=qmnist")
    parser.add_argument("--level", type=int, help="which level; the last one of each variant without it")
    parser.add_argument("--attribute", help="column of numbers, such as abs_tilt; the first one without it")
    parser.add_argument("--again", action="store_true", help="compute what is kept already too")
    parser.add_argument("--opening", action="store_true", help="only choose the experiment that the pages open with")
    parser.set_defaults(act=analyse)


def analyse(options: Namespace) -> None:
    """Fit and keep a mixed logit for every variant that was asked for, and say what came out."""
    study = Study(options.study)
    if options.opening:
        choose_opening(study)
        return
    n_done = 0
    for comparison in comparisons(study, options.only, options.level):
        examples = study.examples(comparison.examples)
        members = member_columns(examples)
        if not members:
            print(f"{comparison.name}: {comparison.examples} does not say who made its examples.")
            continue
        spec = question(examples, members[0], options.attribute, comparison)
        n_done += 1
        if not options.again and read_analysis(study, spec) is not None:
            print(f"{comparison.name}: there already.")
            continue
        began = time.monotonic()
        kept = fitted(examples, spec, comparison)
        key = write_analysis(study, kept)
        print(
            f"{comparison.name}: {kept.facts['n_surely_more']} of {kept.facts['n_members']} surely lose more than the "
            f"average; analyses/{key}, {time.monotonic() - began:.1f} s."
        )
    if not n_done:
        raise PruneScopeError("Nothing was analysed: no run of those asked for has writers and a pruned level.")


def question(examples: pd.DataFrame, member: str, attribute: str | None, comparison: Comparison) -> dict[str, Any]:
    """What the analysis answers, by which it is found again."""
    attributes = attribute_columns(examples)
    if attribute is not None and attribute not in attributes:
        raise PruneScopeError(f"There is no attribute {attribute!r}; there are {', '.join(attributes) or 'none'}.")
    members = member_accuracy(examples, comparison.before[:1], comparison.after[:1], member)
    by = next(iter(nesting_columns(members)), None)
    columns = (member, attribute or next(iter(attributes), None), by)
    return mixed_logit_spec(comparison.examples, columns, comparison.before, comparison.after)


def fitted(examples: pd.DataFrame, spec: dict[str, Any], comparison: Comparison) -> KeptAnalysis:
    """The mixed logit's table of members and its facts."""
    from engine.analysis.members.member_cells import member_cells
    from engine.analysis.members.mixed_logit import fit_mixed_logit
    from engine.analysis.members.shrunk_losses import loss_facts, shrunk_losses

    columns = (str(spec[name]) or None for name in ("attribute", "by"))
    fit = fit_mixed_logit(member_cells(examples, comparison.before, comparison.after, str(spec["member"]), *columns))
    return KeptAnalysis(spec, shrunk_losses(fit), asdict(loss_facts(fit)), comparison.notes)


def comparisons(study: Study, only: list[str], level: int | None) -> Iterator[Comparison]:
    """Every variant at its level beside dense at the start, and beside its controls where there are some."""
    tables = catalog.refresh(study)
    keys = [*EXPERIMENT, *VARIANT]
    for _, rows in chosen_rows(tables.levels, only).groupby(keys, observed=True, sort=False):
        last = int(rows["level"].max()) if level is None else level
        here = rows[(rows["level"] == last).to_numpy() & (last > 0)].sort_values("seed")
        if here.empty:
            continue
        controls = tables.control_levels
        for name in EXPERIMENT:
            controls = controls[(controls[name].astype(str) == str(here[name].iloc[0])).to_numpy()]
        unpruned = controls[(controls["level"] == last).to_numpy()].set_index("seed")["run"].astype(str)
        runs = dict(zip(here["seed"], here["run"].astype(str), strict=True))
        pairs = {
            "dense": [((run, 0), (run, last)) for run in runs.values()],
            "control": [((unpruned[s], last), (run, last)) for s, run in runs.items() if s in unpruned.index],
        }
        for baseline, both in pairs.items():
            before, after = _predicted(study, both)
            if len(before):
                words = " ".join(str(here[name].iloc[0]) for name in ("dataset", *VARIANT) if here[name].iloc[0])
                spec = study.run_record(here["run"].astype(str).iloc[0]).spec
                notes = {"runs": list(runs.values()), "level": last, "baseline": baseline}
                title = f"{words}, level {last}, against {baseline}"
                yield Comparison(title, examples_name(spec), before, after, notes)


def chosen_rows(levels: pd.DataFrame, only: list[str]) -> pd.DataFrame:
    """The rows that every COLUMN=VALUE allows."""
    for words in only:
        column, _, value = words.partition("=")
        if column not in levels:
            raise PruneScopeError(f"There is no column {column!r}; there are {', '.join(map(str, levels.columns))}.")
        levels = levels[(levels[column].astype(str) == value).to_numpy()]
    if levels.empty:
        raise PruneScopeError("No run is left by what was asked for.")
    return levels


def _predicted(study: Study, pairs: list[tuple[tuple[str, int], tuple[str, int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Predictions before and after of the pairs of (run, level) that are both recorded."""
    before, after = [], []
    for was, now in pairs:
        both = [_level(study, *moment) for moment in (was, now)]
        if both[0] is not None and both[1] is not None:
            before.append(both[0])
            after.append(both[1])
    return np.array(before), np.array(after)


def _level(study: Study, run: str, level: int) -> np.ndarray | None:
    levels, matrix = study.prediction_matrix(run)
    return matrix[levels == level][0] if level in levels else None


def choose_opening(study: Study) -> None:
    """Choose the experiment that a study opens with, on validation alone, and say what each came to."""
    found = opening_evidence(study)
    if not found:
        raise PruneScopeError(f"No experiment has {SEEDS} seeds with predictions on validation, so none is clearest.")
    names = names_in_study(study.info)
    for evidence in (named(one, names) for one in found):
        where = evidence.experiment
        print(
            f"{where.name or f'{where.network} on {where.dataset}, {where.protocol}'}: {evidence.who} loses at least "
            f"{100 * evidence.sure_loss:.1f} points at level {evidence.level} of {evidence.technique}, "
            f"{evidence.treatment} ({evidence.n_seeds} seeds, validation)."
        )
    if found[0].sure_loss <= 0:
        print("Nobody surely loses in any of these, so none is chosen: the pages open as they did.")
        return
    write_opening(study, found[0].experiment)
    print("The pages open with the first of these.")
