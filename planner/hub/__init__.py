"""The Hugging Face Hub: configurations, file sizes and file heads, as plain types."""

from planner.hub.address import HubAddress, normalize_id
from planner.hub.client import Hub
from planner.hub.errors import HubError
from planner.hub.repo import HubModel, HubRepo

__all__ = ["Hub", "HubAddress", "HubError", "HubModel", "HubRepo", "normalize_id"]
