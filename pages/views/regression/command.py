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


def command(study: str, asked: RegressionQuery) -> str:
    """The command that prints the same."""
    words = ["python", "-m", "engine", "regression", "--study", study]
    for name in SAME[asked.scope]:
        words += ["--only", f"{name}={getattr(asked.experiment, name)}"]
    for value in asked.without:
        words += ["--without", value]
    if asked.model != "paper":
        words += ["--terms", "plain" if asked.model == "plain" else ",".join(asked.terms)]
    words += ["--link", asked.link] if asked.link != "linear" else []
    words += ["--errors", asked.errors] if asked.errors != "hac" else []
    return shlex.join(words)
