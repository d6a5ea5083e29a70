"""`duecourse demo`: four jobs, whose runs are shown and checked."""
