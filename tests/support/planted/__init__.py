"""Studies with one planted fact each."""
