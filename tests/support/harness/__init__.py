"""What watches, forks, seeds and counts for tests, whatever they test."""
