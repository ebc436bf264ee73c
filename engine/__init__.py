"""The engine trains, prunes and records; it never draws."""

__version__ = "0.1.0"
