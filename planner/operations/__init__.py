"""What keeps a site running: its database and cache, limits, log lines, metrics, probes, back-ups."""
