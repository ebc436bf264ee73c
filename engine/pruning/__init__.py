"""Pruning: how weights are scored, which of them are cut, and when."""
