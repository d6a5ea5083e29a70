"""Interpretation of facts about a stage: a verdict and the first action to take. Pure. `duecourse doctor` and the API
share it, and examine the same stage with different permissions.
"""
