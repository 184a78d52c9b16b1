"""The one way bad input is refused: a sentence that says what to do, tied to the input it is about."""


def one_line(text: str) -> str:
    """`text` as a sentence can hold it: line breaks, control characters, marks that turn the writing round and halves of
    characters, all of which typed input may have, become spaces."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


class InputError(ValueError):
    """Input that cannot be used. The text, always one line, is shown to the user as it stands.

    `field` is the name of the `PlanRequest` field it belongs to, or None for the whole request.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(one_line(message))
        self.field = field
