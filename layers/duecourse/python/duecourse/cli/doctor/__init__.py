"""`duecourse doctor`: the first diagnosis of a stage. Gatherers read facts from AWS, and pure functions judge them."""
