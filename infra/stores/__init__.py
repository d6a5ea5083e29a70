"""Tables, buckets, keys and parameters."""
