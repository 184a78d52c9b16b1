"""The dependency rule: web → hub → core, and inside core only downwards. Read from the sources, so nothing can slip by."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the ground up; a module may import what stands before it, and its own package.
CORE_ORDER = [
    "errors", "units", "precision", "attention", "model_shape", "readers", "hardware", "catalog", "request", "machine",
    "plan", "workload", "prices", "running_cost", "queueing", "weight_formats", "weights", "memory", "spill", "speed", "latency", "simulation", "engines", "cache_view", "fit", "draft", "simulated", "advice", "alternatives", "planning", "reconcile", "review", "headline", "report", "report_text", "logs", "simulating", "comparing", "sensitivity", "quality", "power", "economics", "ladder", "ledger", "purchase_note", "diagnosing", "guide", "accuracy",
]  # fmt: skip
# Likewise outside it. Views are below the one table that says who may reach them.
SITE_ORDER = ["core", "hub", "operations", "accounts", "web", "plans", "permissions", "api"]
SOURCES = sorted((ROOT / "planner").rglob("*.py"))
ONLY_IN = {"plotly": {"web/charts.py", "settings.py"}, "huggingface_hub": {"hub/client.py"}}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def name(path: Path) -> str:
    return path.relative_to(ROOT / "planner").as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_follow_the_dependency_rule(path: Path) -> None:
    own = name(path)
    for module in imports(path):
        for package, places in ONLY_IN.items():
            assert module.split(".")[0] != package or own in places, f"{own} imports {package}"
        if own.startswith("core/"):
            seeded = own.startswith("core/simulation/") and module in {"random", "random.Random"}
            assert seeded or module.split(".")[0] not in {"django", "httpx2", "requests", "socket", "time", "random"}, (
                f"{own} imports {module}"
            )
            assert not module.startswith("planner.") or module.startswith("planner.core"), f"{own} imports {module}"
            part = module.split(".")[2] if module.startswith("planner.core.") else None
            mine = Path(own).parts[1].removesuffix(".py")
            if part in CORE_ORDER and mine in CORE_ORDER and part != mine:
                assert CORE_ORDER.index(part) < CORE_ORDER.index(mine), f"{own} imports {module}, which stands above it"
        if own.startswith("hub"):
            assert not module.startswith(("planner.web", "planner.accounts", "django")), f"{own} imports {module}"


@pytest.mark.parametrize("path", [path for path in SOURCES if name(path).partition("/")[0].removesuffix(".py") in SITE_ORDER], ids=name)
def test_packages_import_only_what_stands_below_them(path: Path) -> None:
    own = name(path).partition("/")[0].removesuffix(".py")
    for module in imports(path):
        part = module.split(".")[1] if module.startswith("planner.") else ""
        assert part not in SITE_ORDER or SITE_ORDER.index(part) <= SITE_ORDER.index(own), (
            f"{name(path)} imports {module}, which stands above it"
        )


def test_every_part_of_core_has_its_place_in_the_order() -> None:
    parts = {path.relative_to(ROOT / "planner/core").parts[0].removesuffix(".py") for path in (ROOT / "planner/core").rglob("*.py")}
    assert parts - set(CORE_ORDER) - {"__init__"} == set()
