"""Single examples whose answer changes, and rates of crossed subgroups."""
