"""Many runs: planned, estimated, shared among processes or a cluster, computed again."""
