"""The files in deploy/: each checked by the program that reads it where that is installed, and against each other."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
ANALYZE = shutil.which("systemd-analyze")
# The part of the specification that the file uses, as (key → what it may hold). A tuple is a list of one kind, a set of types the choice.
# Source: compose-spec/compose-spec 170098b, schema/compose-spec.json; the whole file was validated with that schema on 2026-11-29.
CHECK = {"test": (str,), "interval": str, "timeout": str, "retries": int, "start_period": str, "disable": bool}
SERVICE: dict[str, Any] = {
    "image": str,
    "build": {"context": str, "dockerfile": str},
    "command": (str,),
    "env_file": ({"path": str, "required": bool},),
    "environment": {"*": str},
    "ports": ({"target": int, "published": str},),
    "volumes": ({"type": str, "source": str, "target": str, "read_only": bool},),
    "depends_on": {"*": {"condition": str}},
    "healthcheck": CHECK,
    "restart": str,
    "read_only": bool,
    "tmpfs": (str,),
    "cap_drop": (str,),
    "security_opt": (str,),
    "stop_grace_period": str,
    "shm_size": str,
}


def assert_shape(value: Any, shape: Any, where: str) -> None:
    if isinstance(shape, tuple):
        assert isinstance(value, list), where
        for each in value:
            assert_shape(each, shape[0], where)
    elif isinstance(shape, dict):
        assert isinstance(value, dict), where
        for key, inner in value.items():
            assert key in shape or "*" in shape, f"{where}.{key} is no key of the specification that we know"
            assert_shape(inner, shape.get(key, shape.get("*")), f"{where}.{key}")
    else:
        assert isinstance(value, shape), f"{where} is {value!r}"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


@pytest.fixture(scope="module")
def example() -> dict[str, str]:
    """The example's settings, with the secrets filled in."""
    lines = [line for line in (DEPLOY / "env.example").read_text().splitlines() if line and not line.startswith("#")]
    told = dict(line.split("=", 1) for line in lines)
    return told | {"SECRET_KEY": "check-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFG", "POSTGRES_PASSWORD": "0123abcd"}


def test_the_compose_file_has_keys_of_the_specification_only(compose: dict[str, Any]) -> None:
    assert set(compose) == {"name", "x-web", "services", "volumes"}
    for name, service in compose["services"].items():
        assert_shape(service, SERVICE, name)


def test_services_wait_for_services_that_can_say_they_are_well(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services, name
            if how["condition"] == "service_healthy":
                assert services[other]["healthcheck"]["test"][0] == "CMD", other
            else:
                assert (other, how["condition"]) == ("migrate", "service_completed_successfully")


def test_what_compose_mounts_builds_and_names_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert (DEPLOY / services["web1"]["build"]["context"] / services["web1"]["build"]["dockerfile"]).is_file()
    mounts = [mount for service in services.values() for mount in service.get("volumes", [])]
    assert {mount["source"] for mount in mounts} == {"database", "./nginx.conf", "./certs"}
    assert set(compose["volumes"]) == {"database"}
    upstream = set(re.findall(r"server (\w+):8000", (DEPLOY / "nginx.conf").read_text()))
    assert upstream == {name for name in services if name.startswith("web")}
    for name, service in services.items():
        if name.startswith("web"):
            assert service["environment"]["DATABASE_URL"].partition("@")[2] == "database:5432/slotwise"
            assert service["environment"]["CACHE_URL"] == "valkey://cache:6379/0"


def test_the_image_copies_what_is_there_and_what_the_pages_need() -> None:
    copied = re.findall(r"^COPY (.+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    sources = {source for line in copied for source in line.split()[:-1]}
    for source in sources:
        assert (ROOT / source).exists(), source
    assert {"requirements.txt", "manage.py", "planner", "templates", "static", "deploy/gunicorn.conf.py"} <= sources


def test_secrets_and_the_database_stay_out_of_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", "*.sqlite3*", "*.key", "deploy/.env", "deploy/certs"} <= set(ignored)


@pytest.mark.parametrize("url", ["", "postgres://slotwise:0123abcd@database:5432/slotwise"])
def test_django_has_nothing_to_say_of_the_documented_settings(example: dict[str, str], url: str) -> None:
    # What the browser tests set for themselves is no setting of a site.
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    environment = {**own, **example, "DATABASE_URL": url, "CACHE_URL": "valkey://cache:6379/0" if url else "database"}
    run = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    said = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "no issues" in said.stdout


def test_every_setting_of_the_example_is_one_that_the_site_reads(example: dict[str, str]) -> None:
    read = set(re.findall(r'env_\w+\("([A-Z_]+)"', (ROOT / "planner/settings.py").read_text()))
    assert set(example) - read == {"POSTGRES_PASSWORD"}


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt-get install systemd")
def test_systemd_has_nothing_to_say_of_the_units(tmp_path: Path) -> None:
    units = []
    for source in sorted(DEPLOY.glob("slotwise*.service")) + sorted(DEPLOY.glob("slotwise*.timer")):
        # Only programs that are there are accepted, and /opt/slotwise is not there.
        text = re.sub(r"/opt/slotwise/\.venv/bin/\w+", sys.executable, source.read_text())
        (tmp_path / source.name).write_text(text)
        units.append(str(tmp_path / source.name))
    assert len(units) == 5
    said = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt-get install systemd")
def test_the_unit_is_locked_down() -> None:
    """`systemd-analyze security` from 0 (locked down) to 10; a bare unit has 9.6."""
    run = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(DEPLOY / "slotwise.service")]
    said = subprocess.run(run, capture_output=True, text=True, check=False).stdout
    level = re.search(r"exposure level for slotwise.service: ([\d.]+)", said)
    assert level is not None
    assert float(level[1]) < 2


def test_the_units_start_what_the_guide_installs() -> None:
    unit = (DEPLOY / "slotwise.service").read_text()
    assert "--config deploy/gunicorn.conf.py planner.wsgi" in unit
    assert "EnvironmentFile=/etc/slotwise/env" in unit
    guide = (ROOT / "docs/deploy.md").read_text()
    for name in (
        "/opt/slotwise",
        "/etc/slotwise/env",
        "slotwise.service",
        "slotwise-backup.timer",
        "slotwise-tidy.timer",
        "env.example",
        "compose.yaml",
    ):
        assert name in guide
