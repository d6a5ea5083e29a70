"""`duecourse doctor`: the first look at a stage. Gatherers read facts, pure verdicts say what they mean."""
