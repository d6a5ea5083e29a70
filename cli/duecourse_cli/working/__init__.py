"""The parts of the worker helper (`duecourse_cli.worker`)."""
