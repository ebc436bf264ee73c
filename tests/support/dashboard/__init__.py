"""What pages are shown of, and what they say."""
