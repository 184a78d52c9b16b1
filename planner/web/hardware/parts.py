"""The parts of a query string read one by one, so that every refusal stands at its own field."""

from collections.abc import Callable, Collection
from typing import TypeVar

from planner.core.errors import InputError
from planner.core.request import FIELDS, RequestError

T = TypeVar("T")


class Parts:
    """`errors` maps a field to its sentence; `own` are the fields that a page has beside those of a request."""

    def __init__(self, own: Collection[str]) -> None:
        self.errors: dict[str, str] = {}
        self._fields = frozenset((*own, *FIELDS))

    def read(self, name: str, read: Callable[[], T], instead: T) -> T:
        """What `read` makes of an input; where it is refused, `instead`, and the refusal at its field, else at `name`."""
        try:
            return read()
        except RequestError as refused:
            self.errors.update(refused.errors)
        except InputError as refused:
            self.errors.setdefault(refused.field if refused.field in self._fields else name, str(refused))
        return instead
