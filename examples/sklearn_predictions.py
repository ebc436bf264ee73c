"""Predictions of scikit-learn models: record them, and see who pays for the smaller ones."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import prunescope as ps

images, labels = load_digits(return_X_y=True)
dark = np.where(images.mean(1) > np.median(images.mean(1)), "dark ink", "light ink")
train, test = train_test_split(np.arange(len(labels)), test_size=0.5, stratify=labels, random_state=0)

study = ps.Study("sklearn-study")
for seed in range(3):
    model = MLPClassifier((64,), max_iter=60, tol=1e-3, random_state=seed).fit(images[train], labels[train])
    weights = [layer.copy() for layer in model.coefs_]
    for sparsity in (0.0, 0.5, 0.8, 0.9, 0.95):
        limit = np.quantile(np.concatenate([np.abs(layer).ravel() for layer in weights]), sparsity)
        model.coefs_ = [layer * (np.abs(layer) >= limit) for layer in weights]
        chances = model.predict_proba(images[test])
        study.record(
            chances.argmax(1),
            labels[test],
            sparsity=sparsity,
            technique="magnitude" if sparsity else "dense",
            seed=seed,
            groups={"ink": dark[test]},
            probability=chances[np.arange(len(test)), labels[test]],
            dataset="digits-8x8",
            network="mlp-64",
        )

points = study.points(fair_between="ink")
choice = ps.choose(points, threshold=0.9, weight=10)
print(points.loc[choice.chosen, ["technique", "sparsity", "accuracy", "max_min"]])
# study.serve()  # opens every page on it
