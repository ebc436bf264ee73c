"""What to type: the command that computes a run."""

import shlex

from engine.run_spec import IMPORTED, RunSpec, settings


def command_line(spec: RunSpec) -> str:
    """The command that computes this run, or that brought it."""
    if spec.schedule == IMPORTED:
        return "python -m engine import FILE --study STUDY"
    words = ["python -m engine run"]
    for name, value in settings(spec).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words.append(f"--{flag} {shlex.quote(text)}")
    return " ".join([*words, "--study STUDY"])
