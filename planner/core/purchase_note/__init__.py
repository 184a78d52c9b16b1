"""The purchase note: what is needed, what was compared, what to buy and why, and how to check it; for whoever pays."""

from planner.core.purchase_note.building import Terms, purchase_note
from planner.core.purchase_note.tree import PurchaseNote, Section, Sentence, Table

__all__ = ["PurchaseNote", "Section", "Sentence", "Table", "Terms", "purchase_note"]
