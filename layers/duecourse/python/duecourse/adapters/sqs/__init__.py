"""The queues: lanes of runs, rounds of shards, and the hold on a received message."""
