"""Scheduling policies, one module each. A new one is a new module here with a `POLICY`."""
