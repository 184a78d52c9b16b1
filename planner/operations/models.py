"""Tables that web processes share when there is no cache server: counted requests, and the cache itself."""

from typing import ClassVar

from django.db import models

from planner.operations.addresses import CACHE_TABLE


class Count(models.Model):
    """How often something happened in one window of time. Written by `counts`, in one statement."""

    key = models.CharField(primary_key=True, max_length=200)
    count = models.PositiveIntegerField()
    ends = models.PositiveBigIntegerField(db_index=True, help_text="When the window is over, in seconds since 1970.")

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"


class CacheEntry(models.Model):
    """The table that Django's database cache reads and writes, here so that `migrate` makes it. Its columns are that cache's."""

    cache_key = models.CharField(primary_key=True, max_length=255)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = CACHE_TABLE
        verbose_name_plural: ClassVar[str] = "cache entries"

    def __str__(self) -> str:
        return self.cache_key
