"""Accuracy of classes regressed on sparsity, technique and what a class is like."""
