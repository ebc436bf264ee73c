"""What a notebook shows: the pages' charts, without a server."""
