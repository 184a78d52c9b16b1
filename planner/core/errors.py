"""The one way bad input is refused: a sentence that says what to do, tied to the input it is about."""


class InputError(ValueError):
    """Input that cannot be used. The text is shown to the user as it stands.

    `field` is the name of the `PlanRequest` field it belongs to, or None for the whole request.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
