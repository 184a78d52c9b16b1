"""What the API keeps between calls: answers to calls that may be sent once more."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from planner.accounts.keys import HASH_LENGTH
from planner.accounts.models import User


class KeptAnswer(models.Model):
    """The answer to a call with an Idempotency-Key. `call` is the hash of what was asked, which the next one must ask too."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=HASH_LENGTH)
    call = models.CharField(max_length=HASH_LENGTH)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.TextField(default="")
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "key"], name="each_key_once")]

    def __str__(self) -> str:
        return f"answer {self.pk}"
