"""Accuracy against sparsity: class by class, who falls first, red flags, controls."""
