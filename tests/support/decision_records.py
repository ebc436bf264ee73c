"""Made-up decision records: a usual one, and one in which every text is as long or as odd as it may be."""

from engine.shipping.decision.decision_facts import (
    ChartFacts,
    GroupFacts,
    Number,
    OriginFacts,
    PointFacts,
    RecordFacts,
    RuleFacts,
    ShippedSeed,
    Stakeholder,
    StakeholderFacts,
    UseFacts,
)

HOSTILE = "<script>alert(1)</script> \"double\" 'single' & {{ 7*7 }} {% raw %} | *b* `c`"


def made_record(name: str = "Global magnitude, rewind", n_groups: int = 12, times: int = 1) -> RecordFacts:
    """A record; `name` stands in every text, and texts of people are so many times as long."""
    group = GroupFacts(
        grouping="region", group=name, n=1200, before=0.95, after=0.91, low=0.89, high=0.93, change=-0.04
    )
    long = " ".join([f"Sorting letters for {name}, never for grading people."] * times)

    def point(level: int, role: str = "") -> PointFacts:
        return PointFacts(
            name=f"{name}, level {level}",
            technique="global_unstructured",
            treatment="rewind",
            mitigation="none",
            level=level,
            n_seeds=6,
            sparsity=1 - 0.8**level,
            accuracy=0.97 - 0.01 * level,
            unfairness=0.03 + 0.002 * level,
            value=0.4 - 0.01 * level,
            reason=f"dominated by {name}",
            role=role,
        )

    return RecordFacts(
        title=f"LeNet on {name}",
        summary=f"Close call: {long} (accuracy 96.1 %, gap 3.2 points) wins in 61 % of redraws.",
        texts=[f"Against the runner-up, {long}", f"Who pays: {long}", "The second weight agrees."],
        network="lenet",
        dataset=name,
        chosen=point(8),
        numbers=[
            Number(key="sparsity", label="Sparsity", unit="share", value=0.8926, baseline=0.0),
            Number(key="accuracy", label="Accuracy", unit="share", value=0.961, low=0.958, high=0.964, baseline=0.97),
            Number(
                key="max_min", label=f"Gap {name}", unit="points", value=0.032, low=0.028, high=0.036, baseline=0.02
            ),
        ],
        baseline="the same training, unpruned",
        payers=[group] * 6,
        groups=[group] * n_groups,
        rule=RuleFacts(
            name="weight",
            fair_between=name,
            measure="max_min",
            measure_label="Gap between best and worst",
            weight=10,
            second_weight=100,
            floors={"accuracy": 0.95, "loss": 0.05},
            floor_texts=["Accuracy at least 95.0 %", "No group loses more than 5.0 points"],
            chosen_on="validation",
        ),
        stakeholders=StakeholderFacts(
            both=(
                Stakeholder(weight=10, choice=point(8), cost=0.47),
                Stakeholder(weight=100, choice=point(3), cost=0.28),
            ),
            agree=False,
            compromise=point(5),
        ),
        ships=ShippedSeed(
            run="0123456789ab", seed=3, level=8, why="the seed nearest the mean", accuracy=0.962, unfairness=0.03
        ),
        use=UseFacts(intended=long, not_for=long, reason=long if times > 1 else ""),
        not_checked=[long] * (3 + 4 * (times > 1)),
        alternatives=[point(7, "Runner-up"), point(9, "Second weight"), point(6), point(5)],
        nearest=[point(level) for level in range(1, 11)],
        n_rivals=252,
        chart=ChartFacts(
            points=[
                (1 - 0.9**level, 0.02 + 0.002 * level, "chosen" if level == 20 else "kept" if level % 3 else "rejected")
                for level in range(45)
            ],
            frontier=[(0.5, 0.02), (0.8784, 0.06), (0.99, 0.1)],
            unfairness_in_points=True,
            n_points=253,
        ),
        origin=OriginFacts(
            study=name,
            study_digest="a" * 64,
            examples="qmnist-writers",
            data_digest="b" * 64,
            n_examples=30050,
            prunescope="0.2.0",
            made="2026-11-18T08:00:00+00:00",
            link="https://example.org/frontier?weight=10",
            command="python -m engine run --dataset qmnist",
            runs=[{"run": "0123456789ab", "seed": 3, "engine": "0.1.0", "device": "cpu"}] * 6,
        ),
    )
