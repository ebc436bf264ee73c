"""The chosen model as files: compaction, export, proof, measures, gate, cards."""
