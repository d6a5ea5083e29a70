"""The queues: lanes of runs, rounds of shards, and the visibility of a received message."""
