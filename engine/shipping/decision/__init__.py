"""The decision record: its facts, one page to print with an appendix, and its renderings for other tools."""
