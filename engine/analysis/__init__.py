"""Pure functions from tables to tables or small frozen facts."""
