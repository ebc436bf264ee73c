"""Which runs share a dense network: those whose settings up to its end are the same."""

from dataclasses import replace

from engine.run_spec import DEFAULTS, RunSpec, digest, names_in, settings
from engine.specs.mitigation import MITIGATIONS


def dense_key(spec: RunSpec) -> str:
    """Name of the dense network that the run starts from; runs that only prune or record differently share it.

    The arms `none` and `after` share the plain one, `before` and `both` the mitigated one.
    """
    later = {name: DEFAULTS[name] for name in names_in("pruning", "record")}
    if MITIGATIONS[spec.mitigation].dense:
        return digest(settings(replace(spec, **later, mitigation="before")))
    plain = {name: DEFAULTS[name] for name in names_in("mitigation")}
    return digest(settings(replace(spec, **later, **plain)))
