"""Commands about the model that was chosen."""
