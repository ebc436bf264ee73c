"""What nobody would think of: generated addresses, controls, damage, tables and orders of events."""
