"""What a person may do with something: each role includes those below it."""

from django.db import models


class Role(models.IntegerChoices):
    """Readers see, comment and copy; editors save, share and approve; owners decide who may, and delete."""

    READER = 1, "Reader"
    EDITOR = 2, "Editor"
    OWNER = 3, "Owner"
