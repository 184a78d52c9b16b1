#!/usr/bin/env python
"""Slotwise's command line: `manage.py plan --help`, and Django's own commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 (the settings must be named first)

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
