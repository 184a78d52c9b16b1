"""The page that tries a plan on simulated users: its inputs, its runs, its sweeps, and what it shows of them."""
