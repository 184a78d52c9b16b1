"""How one layer caches: one file per kind, found here. Every layer is claimed by exactly one."""
