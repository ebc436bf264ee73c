"""The public Python face: a study that runs, records and answers, and what users register of their own."""
