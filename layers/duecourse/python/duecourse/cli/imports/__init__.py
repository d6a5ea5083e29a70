"""Converts other schedulers' files to jobs: the result of each entry, and the parts that cannot be imported. No I/O
here.
"""
