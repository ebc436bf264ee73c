"""Reference implementations and ratios against them, measured in one run: `python -m benchmarks [NAME ...]`."""
