"""Settings: whether they make sense, their protocol in words, named sweeps, mitigation."""
