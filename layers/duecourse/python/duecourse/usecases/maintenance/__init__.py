"""What looks after jobs and runs: completeness audit, index repair with clean-up, dead-letter reconciler."""
