"""Sweeps that go on by themselves: a detached process for each, and a folder that says how it stands."""
