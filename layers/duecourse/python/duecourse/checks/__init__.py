"""What facts about a stage mean: a verdict, and what to do first. Pure, and shared by `duecourse doctor` and the API,
which both look at the same stage with different rights.
"""
