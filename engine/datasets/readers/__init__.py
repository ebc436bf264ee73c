"""Readers of the data sets' files, one format each; torch is never loaded here, and nothing is unpickled freely."""
