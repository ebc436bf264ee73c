"""Predictions from elsewhere: a table that a user brings becomes ordinary runs of a study.

`process` is the way in and out; it reads nothing of the user's itself but lets a child do so, under limits.
"""
