"""Jobs and workflows as files: read, compared with what stands, applied, and written."""
