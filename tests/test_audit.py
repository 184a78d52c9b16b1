"""The audit of dependencies: what is known fails the check, and what cannot be asked says so."""

import pytest

from scripts import audit

CLEAN = {"name": "django", "version": "5.2.19", "vulns": []}
KNOWN = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": []}]}
UNKNOWN = {"name": "new", "skip_reason": "Dependency not found on PyPI"}


def test_a_known_vulnerability_is_named_with_the_release_that_mends_it() -> None:
    assert audit.vulnerable([CLEAN, UNKNOWN]) == []
    assert audit.vulnerable([CLEAN, KNOWN]) == ["old 1.0: PYSEC-2026-1, mended in 1.1"]


def test_one_that_is_accepted_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ACCEPTED", {"PYSEC-2026-1": "not called"})
    assert audit.vulnerable([KNOWN]) == []


def test_a_mirror_without_advisories_is_no_clean_bill() -> None:
    with pytest.raises(audit.NotReachableError):
        audit.vulnerable([UNKNOWN])


@pytest.mark.parametrize(
    ("found", "code", "told"), [([CLEAN], 0, "1 packages audited, 0"), ([KNOWN], 1, "PYSEC"), ([UNKNOWN], 0, "NOT audited")]
)
def test_the_check_fails_for_what_is_known_alone(
    found: list[dict[str, object]], *, code: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "advisories", lambda: found)
    assert audit.main() == code
    assert told in capsys.readouterr().out
