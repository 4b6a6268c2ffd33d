"""Reports of Records: terminal, pictures, page, tables."""
