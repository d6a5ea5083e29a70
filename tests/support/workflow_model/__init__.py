"""The protocol of workflows as a model: every order of the steps of a few workers over a small graph."""
