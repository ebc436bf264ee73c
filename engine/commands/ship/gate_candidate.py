"""`gate`: does a candidate keep to a policy? For continuous integration."""

import json
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.api.gate_inputs import MEASURED, gate
from engine.errors import PruneScopeError
from engine.shipping.gate_report import EXIT, as_json, as_junit, as_markdown
from engine.store.files import write_file

UNUSABLE = 2


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `gate`."""
    parser = commands.add_parser(
        "gate",
        help="judge a candidate by a policy, for continuous integration",
        description="Exit code: 0 passes, 1 fails, 2 input that cannot be used, 3 cannot be told with so little data.",
    )
    parser.add_argument("--policy", required=True, help="TOML file of rules")
    parser.add_argument("--candidate", required=True, help="file of predictions, or the key of a run in --study")
    parser.add_argument("--baseline", help="file or run to compare with (default: what the candidate itself knows)")
    parser.add_argument("--study", help="folder of the study, where a run is named")
    parser.add_argument("--level", type=int, help="level of the run (default: its last)")
    parser.add_argument("--measures", help=f"JSON file with any of {', '.join(MEASURED)}")
    parser.add_argument("--markdown", metavar="FILE", help="write the summary there as well")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")
    parser.set_defaults(act=gate_candidate)


def gate_candidate(options: Namespace) -> int:
    """Print the summary, write what was asked for, and end with the outcome's code."""
    try:
        gated = gate(
            options.policy,
            options.candidate,
            options.baseline,
            study=options.study,
            level=options.level,
            measures=_measures(options.measures),
        )
        writers = {"markdown": as_markdown, "junit": as_junit, "json": as_json}
        for name, write in writers.items():
            if path := getattr(options, name):
                write_file(Path(path), write(gated.findings, gated.title).encode())
    except PruneScopeError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    print(as_markdown(gated.findings, gated.title))
    return EXIT[gated.outcome]


def _measures(path: str | None) -> dict[str, float]:
    """What a file says was measured."""
    if path is None:
        return {}
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PruneScopeError(f"{path} cannot be read as JSON: {error}.") from error
    usable = isinstance(facts, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for name, value in facts.items()
        if name in MEASURED
    )
    if not usable:
        raise PruneScopeError(f"{path} should hold numbers by name: {', '.join(MEASURED)}.")
    return {name: float(facts[name]) for name in MEASURED if name in facts}
