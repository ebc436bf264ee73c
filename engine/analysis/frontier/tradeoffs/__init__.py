"""What a choice trades: costs of networks, two stakeholders, why a point is not chosen."""
