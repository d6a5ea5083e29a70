"""Jobs and workflows as files: read, compared with the stored ones, applied, and written."""
