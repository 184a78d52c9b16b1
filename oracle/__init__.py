"""Real engines, started with Slotwise's own arguments on tiny random models, held against what Slotwise said they would print.

Nothing here is imported by the application. Run it with `make oracle`; docs/oracle.md says what it does and what it found.
"""
