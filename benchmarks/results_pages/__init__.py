"""benchmarks/RESULTS.md, generated from the JSON documents of all benchmarks: one module for each page, and a generic
module.
"""
