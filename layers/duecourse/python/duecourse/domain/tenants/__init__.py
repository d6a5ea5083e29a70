"""Limits of tenants: requests, jobs, and seats."""
