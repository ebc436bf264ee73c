"""What goes with a group's loss, and what mitigation does about it."""
