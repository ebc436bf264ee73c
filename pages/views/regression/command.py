"""The command that prints what the Regression page shows."""

import shlex
from dataclasses import dataclass

from pages.shared.cache.catalog import Experiment
from pages.shared.cache.models import SAME


@dataclass(frozen=True)
class RegressionQuery:
    """What the page was asked for."""

    experiment: Experiment
    scope: str
    without: tuple[str, ...]
    """Techniques and treatments that are switched off."""
    model: str
    terms: tuple[str, ...]
    link: str
    errors: str
    collapsed: bool = True
    """Whether networks that only guess are in."""


def command(study: str, query: RegressionQuery) -> str:
    """The command that prints the same."""
    words = ["python", "-m", "engine", "regression", "--study", study]
    for name in SAME[query.scope]:
        words += ["--only", f"{name}={getattr(query.experiment, name)}"]
    for value in query.without:
        words += ["--without", value]
    if query.model != "paper":
        words += ["--terms", "plain" if query.model == "plain" else ",".join(query.terms)]
    words += ["--link", query.link] if query.link != "linear" else []
    words += ["--errors", query.errors] if query.errors != "hac" else []
    words += [] if query.collapsed else ["--without-collapsed"]
    return shlex.join(words)
