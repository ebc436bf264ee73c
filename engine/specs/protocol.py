"""A run's protocol in a few words: the settings beside its identity, so that unlike runs are never averaged."""

from engine.pruning.schedules import schedule_settings
from engine.run_spec import DEFAULTS, IDENTITY, IMPORTED, RunSpec, names_in

_PHRASED = ("epochs", "epochs_after", "crop", "flip")
"""Settings that have a phrase of their own, which comes before the rest."""


def protocol(spec: RunSpec) -> str:
    """Words that are equal for two runs exactly when their protocols are; `mitigation_words` says the mitigation."""
    parts = [_schedule(spec), *([f"{spec.epochs} epochs"] if spec.epochs else ())]
    if spec.epochs_after and spec.epochs_after != spec.epochs:
        parts.append(f"{spec.epochs_after} after pruning")
    if spec.crop:
        parts.append(f"crop {spec.crop}")
    if spec.flip:
        parts.append("flip")
    phrased = {*IDENTITY, *schedule_settings(), *_PHRASED}
    others = {name: getattr(spec, name) for name in names_in("data", "training", "pruning") if name not in phrased}
    parts += [f"{name.replace('_', ' ')} {_words(value)}" for name, value in others.items() if value != DEFAULTS[name]]
    return ", ".join(parts)


def _schedule(spec: RunSpec) -> str:
    if spec.schedule == IMPORTED:
        return IMPORTED
    if spec.schedule == "iterative":
        return f"{spec.levels} levels of {spec.share:.0%}"
    at = ", ".join(f"{100 * value:.4g}" for value in spec.sparsities)
    if spec.schedule == "oneshot":
        return f"at once to {at} %"
    return f"steps {spec.begin_step} to {spec.end_step} every {spec.every_steps} to {at} %"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
