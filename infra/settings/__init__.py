"""The settings of a stage and their validation."""
