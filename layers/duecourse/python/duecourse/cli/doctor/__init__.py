"""`duecourse doctor`: the first diagnosis of a stage. Gatherers read facts from AWS; pure functions evaluate them."""
