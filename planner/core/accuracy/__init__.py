"""Our answers beside what engines printed: records of facts in, comparisons and their summary out. Tests and the page use the same."""
