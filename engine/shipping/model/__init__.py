"""The model itself: as steps and tensors, as ONNX, in eight bits, and what it costs."""
