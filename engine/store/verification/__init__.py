"""The parts of a verification: runs, what people wrote, and what was found whole before."""
