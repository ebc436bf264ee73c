"""Predictions in and out: a table that a user brings becomes ordinary runs of a study, and a study a table.

`sandbox` is the way in; it reads nothing of the user's itself but lets a child do so, under limits. `export` is the
way out. Nothing here loads torch.
"""
