"""The inference servers Slotwise can plan for: one package each, found here."""
