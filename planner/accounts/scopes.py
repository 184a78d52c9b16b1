"""What a token may be used for. Each stands alone: who may write is not thereby allowed to read."""

from django.db import models


class Scope(models.TextChoices):
    COMPUTE = "compute", "Work out plans, tables, simulations and diagnoses"
    READ = "read", "Read saved plans"
    WRITE = "write", "Save, change and delete plans"
    SHARE = "share", "Make, list and revoke shared links"
