"""One run from its spec to its record, level by level."""
