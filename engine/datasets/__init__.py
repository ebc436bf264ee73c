"""Data sets: the table of them, what one is, where they lie, their groups and attributes."""

from engine.datasets.dataset_table import DATASETS as DATASETS
from engine.datasets.dataset_table import load_dataset as load_dataset
