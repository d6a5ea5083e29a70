"""Tables, buckets, keys, parameters."""
