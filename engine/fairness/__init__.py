"""Training against gaps between groups, and what gradients and curvatures say of them."""
