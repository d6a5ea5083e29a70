"""Duecourse: a distributed job scheduler made of AWS serverless parts."""
