"""The page and the report of a diagnosis."""
