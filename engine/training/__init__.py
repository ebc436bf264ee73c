"""Training: devices, splits on them, the loop, evaluation, eight bits."""
