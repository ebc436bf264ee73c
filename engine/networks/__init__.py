"""Networks: the table of them, and their architectures."""

from engine.networks.network_table import NETWORKS as NETWORKS
