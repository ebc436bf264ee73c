"""What pages share: the frame, loading, charts, words."""
