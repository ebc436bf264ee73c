"""Does a candidate keep to a policy: rules, and the judgement of each with the interval that fits it."""
