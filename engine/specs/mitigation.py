"""What is done against gaps between groups while training: the arms, the rules, what they constrain, and their words.

Names no torch, so that a menu can read the tables without loading it; `engine.fairness` holds the machinery.
"""

from dataclasses import dataclass

from engine.run_spec import RunSpec, names_in, settings


@dataclass(frozen=True)
class MitigationRow:
    """One arm: which trainings are mitigated, that of the dense network or those after pruning."""

    key: str
    label: str
    help: str
    dense: bool
    pruned: bool


@dataclass(frozen=True)
class ConstraintRow:
    """One constraint; `terms` are the quantities that it compares between each group and all examples.

    Two-sided: every group equals the whole. One-sided: no group exceeds the whole by more than the tolerance; it needs
    a dense network to compare with, so it makes sense after pruning only.
    """

    key: str
    label: str
    help: str
    formula: str
    source: str
    terms: tuple[str, ...]
    is_one_sided: bool = False


@dataclass(frozen=True)
class RuleRow:
    """One rule: how the groups' weights in the loss move; `settings` are those of mitigation that only it reads."""

    key: str
    label: str
    help: str
    formula: str
    source: str
    settings: tuple[str, ...]


MITIGATIONS: dict[str, MitigationRow] = {
    row.key: row
    for row in (
        MitigationRow("none", "No mitigation", "Plain training, dense and after pruning.", False, False),
        MitigationRow("before", "Before pruning", "The dense network is trained with the constraint.", True, False),
        MitigationRow("after", "After pruning", "Training after pruning has the constraint.", False, True),
        MitigationRow("both", "Before and after pruning", "Both trainings have the constraint.", True, True),
    )
}

CONSTRAINTS: dict[str, ConstraintRow] = {
    row.key: row
    for row in (
        ConstraintRow(
            "loss",
            "Equal losses",
            "Every group's loss equals the mean loss.",
            "J_a = J",
            "Tran 2022, Eq. 8",
            ("loss",),
        ),
        ConstraintRow(
            "full",
            "Equal gradients and curvatures",
            "Every group's gradient norm and curvature equal those of all; tens of times slower, for small networks.",
            "|g_a| = |g|, lambda(H_a) = lambda(H)",
            "Tran 2022, Eq. 7",
            ("gradient_norm", "curvature"),
        ),
        ConstraintRow(
            "drop",
            "Bounded drops",
            "No group loses more accuracy since dense than all examples do plus the tolerance.",
            "d_a <= d + tolerance, d_a = mean p(true) dense - mean p(true)",
            "after Balancing Act, Hashemizadeh et al. 2024",
            ("drop",),
            is_one_sided=True,
        ),
    )
}

RULES: dict[str, RuleRow] = {
    row.key: row
    for row in (
        RuleRow(
            "lagrangian",
            "Multipliers",
            "A multiplier per group grows with the group's gap. Its step has the loss's unit: one that suits one data "
            "set can turn a group's weight negative on another, which is warned of.",
            "J + sum_a lambda_a |J_a - J|, lambda_a += step |J_a - J| after each epoch",
            "Tran 2022, Section 6",
            ("constraint", "dual_step", "dual_decay", "tolerance", "replay"),
        ),
        RuleRow(
            "reweight",
            "Reweighted groups",
            "After each epoch, groups with a loss above the mean weigh more, and those below it less. No weight is "
            "ever negative, and the step has no unit.",
            "sum_a w_a J_a, w_a = p_a exp(theta_a) / sum, theta_a += eta (J_a - J) / J after each epoch",
            "exponentiated gradient on relative losses, from the groups' shares",
            ("eta",),
        ),
        RuleRow(
            "worst",
            "Worst group first",
            "Groups of all sizes start with equal weights; with each batch a group's weight grows with its loss, so "
            "that training follows the group that is worst off (group DRO).",
            "sum_a q_a J_a, q_a = 1 / groups at first, q_a *= exp(eta J_a) / sum after each batch",
            "Sagawa et al. 2020, Algorithm 1",
            ("eta",),
        ),
    )
}


def mitigation_settings() -> tuple[str, ...]:
    """Names of the settings that matter only where something is mitigated."""
    return tuple(name for name in names_in("mitigation") if name != "mitigation")


def mitigates(spec: RunSpec, level: int) -> bool:
    """Whether the training of this level has the constraint."""
    row = MITIGATIONS[spec.mitigation]
    return row.pruned if level else row.dense


def dual_step(spec: RunSpec, epoch: int) -> float:
    """Step of the multipliers after this epoch, counted from 1: step / (1 + decay (epoch - 1))."""
    return spec.dual_step / (1 + spec.dual_decay * (epoch - 1))


def mitigation_words(spec: RunSpec) -> str:
    """The arm, and the settings of mitigation that differ from their defaults: "after", "both, reweight, by series".

    Equal for two runs of one protocol exactly when their mitigations are, so that unlike ones are never averaged.
    """
    if spec.mitigation == "none":
        return spec.mitigation
    other = {name: value for name, value in settings(spec).items() if name in mitigation_settings()}
    chosen = [str(other.pop(name, "")) for name in ("mitigation_rule", "constraint")]
    words = [spec.mitigation, *chosen, f"by {other.pop('mitigated_group', '')}"]
    words += [f"{name.replace('_', ' ')} {value}" for name, value in other.items()]
    return ", ".join(word for word in words if word not in ("", "by "))


def arm_of(words: str) -> str:
    """The arm that `mitigation_words` begin with."""
    return words.partition(",")[0]
