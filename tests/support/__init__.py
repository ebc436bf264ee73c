"""What tests, benchmarks and docs make studies, servers and faults with."""
