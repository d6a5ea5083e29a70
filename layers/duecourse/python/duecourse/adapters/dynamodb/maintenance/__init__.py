"""What the maintenance functions read and write in the jobs table."""
