"""benchmarks/RESULTS.md, made of the JSON documents of all benchmarks: a module for each, and one for all others."""
