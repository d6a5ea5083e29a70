"""`duecourse demo`: four jobs, each run shown and checked."""
