"""What the budgets of the design are measured with. Run one as `python -m benchmarks.<name>`."""
