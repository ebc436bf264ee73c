"""Networks for tests."""
