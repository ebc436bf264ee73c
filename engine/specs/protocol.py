"""A run's protocol in a few words: the settings beside its identity, so that unlike runs are never averaged."""

from dataclasses import asdict, fields

from engine.run_spec import IDENTITY, MITIGATION_SETTINGS, RunSpec

_SAID = frozenset(
    (
        *IDENTITY,
        *MITIGATION_SETTINGS,
        "share",
        "levels",
        "sparsities",
        "begin_step",
        "end_step",
        "every_steps",
        "epochs",
        "epochs_after",
    )
)
_SILENT = frozenset(("diagnose", "keep_scores", "keep_checkpoints"))


def protocol(spec: RunSpec) -> str:
    """Words that are equal for two runs exactly when their protocols are; `mitigation_words` says the mitigation."""
    parts = [_schedule(spec), *([f"{spec.epochs} epochs"] if spec.epochs else ())]
    if spec.epochs_after and spec.epochs_after != spec.epochs:
        parts.append(f"{spec.epochs_after} after pruning")
    if spec.crop:
        parts.append(f"crop {spec.crop}")
    if spec.flip:
        parts.append("flip")
    defaults = {f.name: f.default for f in fields(RunSpec)}
    parts += [
        f"{name.replace('_', ' ')} {_words(value)}"
        for name, value in asdict(spec).items()
        if name not in _SAID | _SILENT | {"crop", "flip"} and value != defaults[name]
    ]
    return ", ".join(parts)


def _schedule(spec: RunSpec) -> str:
    if spec.schedule == "imported":
        return "imported"
    if spec.schedule == "iterative":
        return f"{spec.levels} levels of {spec.share:.0%}"
    at = ", ".join(f"{100 * value:.4g}" for value in spec.sparsities)
    if spec.schedule == "oneshot":
        return f"at once to {at} %"
    return f"steps {spec.begin_step} to {spec.end_step} every {spec.every_steps} to {at} %"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
