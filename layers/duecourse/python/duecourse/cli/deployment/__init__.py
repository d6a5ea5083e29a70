"""Deployments of a stage: `make deploy` in a checkout, and `duecourse deploy` with a file of a release."""
