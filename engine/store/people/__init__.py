"""What people did in a study, and how two of them agree."""
