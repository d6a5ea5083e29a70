"""The items that the maintenance functions read and write in the jobs table."""
