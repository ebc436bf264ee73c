"""What people decided and what was measured of shipped models, kept in the study."""
