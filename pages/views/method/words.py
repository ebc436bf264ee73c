"""How the numbers are made: what the Method page says, from the engine's tables wherever they know it."""

import pandas as pd

from engine.analysis.columns import EXPERIMENT, VARIANT
from engine.analysis.unfairness import UNFAIRNESS
from engine.datasets.dataset_table import DATASETS
from engine.errors import PruneScopeError
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from engine.store.catalog import Catalog
from engine.store.study import Study, examples_name
from pages.shared import formats
from pages.shared.cache.catalog import Experiment, Source, n_models
from pages.shared.experiments import experiment_names
from pages.shared.names import dataset_name, subject_name
from pages.shared.protocol import difference_sentence

SPLITS = {
    "official": "The sides that the data set comes with; where it has none, a fixed half or fifth is tested.",
    "writers": "Every second writer of each series is tested, by number. Nobody's digits are on both sides.",
    "test10k": "Of the official test side, the 10,000 digits that are MNIST's own.",
}

TEST_SPLIT = (
    "The test split is read once per level, after training: no epoch and no setting of a training is picked on it. "
    "A part of the training split, drawn by seed, is held out for validation. "
    "Where runs kept what they say of it, the Frontier chooses on validation and reports the test split, which then "
    "picks no network either. "
    "Older and imported runs kept nothing: there the Frontier chooses on the test numbers that it reports and says so. "
    "It also chooses on one half of the members and reports the other, which shows how much larger the gap becomes. "
    "Images are normalised by the training split."
)
"""What is read when, and which of it chooses."""

GRADIENTS = (
    "Good et al. score a weight w by its gradient: with weight decay (GP), or with the decay taken out (UP). Below, g "
    "is the gradient of the data loss and e the weight decay.",
    "**As formulas**: GP is `|w (g + e w)|` and UP is `|w g|`. These are *Gradient* and *Undecayed gradient* here.",
    "**As code**: PyTorch's own gradient holds no decay, so GP is `|w g|` and UP is `|w g - e w²|`. That UP nears "
    "magnitude as g nears 0, as the paper says; it is not among the techniques here.",
    "On LeNet these scores rank weights almost alike, so a study of LeNet cannot tell the readings apart.",
)
"""What GP and UP may mean, and what is computed."""

ATTRIBUTES = {
    "tilt": "slope of the least-squares line of column on row through the lit pixels (above 127). 0 is upright, "
    "positive leans left; unknown where fewer than two rows are lit.",
    "abs_tilt": "size of the tilt, whichever way it leans.",
    "activation": "mean pixel value, 0 (all black) to 1; thick or elaborate strokes have more.",
    "distance": "Euclidean distance, pixels 0 to 1, from the mean training image of the same class.",
    "entropy": "Shannon entropy of the pixel values in bits, 0 (one value only) to 8.",
}

INTERVALS = (
    "**An average of training runs**: Student's 95 % interval, n − 1 degrees of freedom. One run has none. It "
    "covers what other runs would give, not what other test examples would.",
    "**The rate of a group or writer**: Wilson's 95 % interval for its number of examples, however many seeds there "
    "are, since all of them see the same examples. Where a group has writers, its interval is for new writers and new "
    "seeds (errors by cluster, CR1).",
    "**The worst of many**: Student's 95 % interval made to hold for all classes, or all groups, of a network at once, "
    "so that the worst may be picked after looking.",
    "**A line through writers**: least squares with a 95 % band. Whether its slope changes is tested on each writer's "
    "own change, with errors that allow for unequal spread (HC3) and for other seeds. "
    "Where writers come in several series, the sentence is about the slope within series, each with a level of its "
    "own: a line over all would also show how the series differ.",
    "**Whether writers differ at all**: the digits of each class and series change hands at random among the writers "
    "who wrote some, 500 times. What they lose then is what chance alone gives; p is the share of draws that spread "
    "them at least as wide.",
    "**Who surely loses**: a mixed-effects logit of being right pulls each writer to what all have in common. Its "
    "intervals hold for other digits of the same writers; `python -m engine analyse` computes it once.",
    "**Which class falls first**: seeds are drawn again 500 times with replacement. The share of draws that name the "
    "same class says how sure it is.",
    "**The choice on the frontier**: up to 8 seeds all ways to draw them again, else 500 draws; one draw serves all "
    "networks. *Clear*: the choice wins in at least 80 % of draws and is alone in the 95 % confidence set (Hansen et "
    "al. 2011). *Toss-up*: another wins more often, or it wins in under 30 %. Otherwise *close call*.",
    "**Class accuracy on many causes**: errors let neighbouring rows (HAC, as in the paper) or all rows of a run "
    "depend on each other.",
)

FRONTIER = (
    "Each point is a technique and treatment at one level: the mean of its seeds.",
    "Points below the accuracy threshold are out. Of the rest, a point is on the frontier if no other is at least as "
    "sparse and at least as fair and better in one. Ties stay.",
    "The choice has the highest value: sparsity − weight × unfairness. The weight says how many points of sparsity one "
    "point of unfairness is worth; it is yours to set, and no data can set it for you.",
    "Unfairness is measured between classes, the groups of a column, or two columns crossed; groups below 20 examples "
    "are left out and named. A floor takes out every point of which a group lies too low or loses too much.",
    "A promise takes the sparsest network of which the floors surely hold: each technique is tested from its least "
    "sparse network on until one fails (learn then test, Angelopoulos et al. 2021; Hoeffding and Bentkus).",
)

LIMITS = (
    "Whether a network is fair. It compares classes and groups; which gap matters is a matter for people.",
    "Who is hurt outside the listed classes and groups. What was not recorded cannot be seen.",
    "How another population, network or data set fares: each experiment speaks for itself.",
    "What the cut alone does to a group's loss, where weights are cut while training or a run was made before that was "
    "recorded: excessive loss and Theorem 1 then hold the training too.",
    "Why a class falls. Tilt or class size may go along with a loss without causing it.",
    "That a small difference is real. Of many classes, one always looks worst by chance; n and intervals stand beside "
    "each number for that reason.",
    "How the choice does on fresh data. Where no validation was kept it is made on the test split that it is reported "
    "on; and who looks at test numbers and asks again chooses on them too. Confirm on data that no choice has seen.",
    "What another kind of computer would predict, example by example. x86-64 processors are made to round alike; "
    "others do not, and training magnifies that as it magnifies another seed. Go by averages of training runs.",
    "Speed or memory saved. Sparsity counts zeros; whether hardware gains from them is another matter.",
)

PAPERS = (
    "Paganini 2020, *Prune Responsibly*: class curves, writers, unfairness, the frontier.",
    "Hooker et al. 2020, *Characterising Bias in Compressed Models*: examples and subgroups that compression harms.",
    "Tran et al. 2022, *Pruning has a disparate impact on model accuracy*: excessive loss and its causes.",
    "Good et al. 2022, *Recall Distortion in Neural Network Pruning and the Undecayed Pruning Algorithm*: "
    "intensification.",
    "Hashemizadeh et al. 2024, *Balancing Act: Constraining Disparate Impact in Sparse Models*: the constraint `drop`.",
)


def summary(catalog: Catalog) -> str:
    """What everything rests on, with numbers; markdown."""
    models, n_predictions = int(catalog.n_levels.sum()), catalog.n_predictions
    beside = int(catalog.n_levels[catalog.is_control | catalog.is_repeat].sum())
    others = f" {formats.count(beside)} of them are controls, which other pages do not count." if beside else ""
    return (
        f"**Every number here comes from {formats.count(n_predictions)} recorded predictions: what each of "
        f"{formats.count(models)} models says of each test example.**{others}"
    )


def split_table(catalog: Catalog, study: Study) -> pd.DataFrame:
    """The data sets of the study: classes, examples, what the split means."""
    rows = []
    first = catalog.runs.drop_duplicates(["dataset", "split", "protocol"]).astype(str)
    sets = {
        examples_name(study.run_record(run).spec): (dataset, split)
        for run, dataset, split in zip(first["run"], first["dataset"], first["split"], strict=True)
    }
    for name, (dataset, split) in sorted(sets.items()):
        try:
            facts = study.class_facts(name)
            sizes = [formats.count(value) for value in (len(facts), facts["n_train"].sum(), facts["n_test"].sum())]
        except PruneScopeError:
            sizes = [formats.MISSING] * 3
        licence = DATASETS[dataset].licence if dataset in DATASETS else formats.MISSING
        rows.append((dataset_name(dataset), split, *sizes, SPLITS.get(split, ""), licence))
    names = ["Data set", "Split", "Classes", "Training", "Test", "Who is tested", "Licence"]
    return _markdown(pd.DataFrame(rows, columns=names))


def technique_table(catalog: Catalog) -> pd.DataFrame:
    """The techniques of the study, in the order of their table."""
    recorded = set(catalog.runs["technique"].astype(str))
    rows: list[tuple[str, str, str]] = [
        (row.label, row.help, row.compares) for key, row in TECHNIQUES.items() if key in recorded
    ]
    rows += [(key, "Not one of ours: it came with the predictions.", "") for key in sorted(recorded - set(TECHNIQUES))]
    return _markdown(pd.DataFrame(rows, columns=["Technique", "What goes", "Compared within"]))


def treatment_sentences(catalog: Catalog) -> str:
    """What follows a cut, and what tells its effect from that of the cut; markdown."""
    texts = [f"**{row.label}**: {row.help}" for row in TREATMENTS.values()]
    n_controls = int(catalog.is_control.sum())
    controls = f"here {formats.count(n_controls)} runs" if n_controls else "there is none in this study"
    texts.append(
        "A network that kept training has trained longer than the dense one. **Control**: trains as long, of the same "
        f"seed, and loses no weight ({controls}). Red flags, the Frontier and Recall distortion set such networks "
        "against it."
    )
    return " ".join(texts)


def gradient_sentences(catalog: Catalog) -> tuple[str, ...]:
    """What the gradient techniques compute; nothing where the study has none; markdown."""
    recorded = set(catalog.runs["technique"].astype(str))
    return GRADIENTS if recorded & {"gradient", "undecayed"} else ()


def attribute_sentences() -> tuple[str, ...]:
    """How each attribute of an image is computed; markdown."""
    return tuple(f"**{name.replace('abs_', 'absolute ')}**: {text}" for name, text in ATTRIBUTES.items())


def measure_table() -> pd.DataFrame:
    """Every unfairness measure: what it says, its formula, its source."""
    rows = [(row.label, row.help, row.formula, row.source) for row in UNFAIRNESS.values()]
    table = _markdown(pd.DataFrame(rows, columns=["Measure", "What it says", "Formula", "Source"]))
    return table.assign(Formula=[f"`{row.formula}`" for row in UNFAIRNESS.values()])


def paper_sentences(catalog: Catalog, source: Source) -> tuple[str, ...]:
    """What the experiments of the study, the one of most models first, do otherwise than a paper; markdown."""
    named: dict[str, list[str]] = {}
    groups = dict(list(catalog.runs.groupby(list(EXPERIMENT), observed=True)))
    called = experiment_names(source)
    for experiment in n_models(catalog).index:
        runs = groups[experiment]
        seeds = runs.groupby(list(VARIANT), observed=True)["seed"].nunique()
        spec = source.study.run_record(str(runs["run"].iloc[0])).spec
        name = f"{called[Experiment(*map(str, experiment))]}: {subject_name(spec.network, spec.dataset)}"
        size = "1 run" if len(runs) == 1 else f"{formats.count(len(runs))} runs"
        against = difference_sentence(spec, int(seeds.min()), int(seeds.max()))
        named.setdefault(against, []).append(f"**{formats.plain(name)}** ({size})")
    return tuple(f"{', '.join(names)}. {against}" for against, names in named.items())


def bullets(sentences: tuple[str, ...]) -> str:
    """A list in markdown."""
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _markdown(table: pd.DataFrame) -> pd.DataFrame:
    """The table with every cell made plain, for a table that reads markdown."""
    return table.map(lambda value: formats.plain(value) if isinstance(value, str) else value)
