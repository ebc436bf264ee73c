"""Where predictions come from: several files and folders, JSON lines, a study that grows, evaluation harnesses."""
