"""From a request to simulated runs: the plan's machine, model and settings put under a load, once or over a sweep."""
