"""What one page uses, in a folder of its name; no other page imports it."""
