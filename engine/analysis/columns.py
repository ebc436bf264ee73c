"""Which columns say that two runs differ in nothing but their seed, and what groupings are called."""

MODEL = ("dataset", "split", "network", "technique", "treatment", "mitigation", "schedule", "protocol")
"""Identity of a model apart from seed and level; means over seeds never cross it."""

EXPERIMENT = ("dataset", "split", "network", "schedule", "protocol")
"""What must be equal for models to be compared."""

VARIANT = ("technique", "treatment", "mitigation")
"""What tells the models of one experiment apart, seed and level aside."""

CLASS = "class"
"""What the grouping of examples by their classes is called, beside the group columns of a study."""


UNMITIGATED = ("none", "")
"""Values of the column `mitigation` of networks that were trained as usual."""


def is_mitigated(mitigation: str) -> bool:
    """Whether a value of the column `mitigation` names any; runs that were imported leave it empty."""
    return mitigation not in UNMITIGATED
