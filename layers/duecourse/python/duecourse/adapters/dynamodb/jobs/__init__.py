"""Items of jobs and tenants."""
