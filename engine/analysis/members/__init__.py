"""Members of a group column, such as writers: their accuracies, and what explains their losses."""
