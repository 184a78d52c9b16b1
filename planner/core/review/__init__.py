"""A pasted configuration held against a plan: what is kept, what changes, what is added, and what was wrong in it."""

from planner.core.review.compare import Item, Review, engine_in, review

__all__ = ["Item", "Review", "engine_in", "review"]
