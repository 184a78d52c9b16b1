"""API v1: the planner, the simulator, the diagnosis and saved plans for programs."""
