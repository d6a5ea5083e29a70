"""Gates: what may make a run wait before an attempt starts. Each is pure; runner.py executes what they return."""
