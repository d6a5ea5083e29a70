"""Jobs and workflows as files: reads them, compares them with the stored ones, applies them and writes them."""
