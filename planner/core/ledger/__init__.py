"""The ledger: what else a machine carries beside the model, how many slots each of it costs, and whether the machine survives a restart."""

from planner.core.ledger.entries import Entry, Ledger, ledger
from planner.core.ledger.peaks import Peak, peaks
from planner.core.ledger.tenants import Tenant, read_tenants

__all__ = ["Entry", "Ledger", "Peak", "Tenant", "ledger", "peaks", "read_tenants"]
