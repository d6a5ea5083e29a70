"""Use cases: each loads, decides (in pure functions), writes with a condition, sends and reports."""
