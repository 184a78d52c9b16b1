"""Whatever is sent to a call, by the schema or against it: no 5xx, and only answers that the schema describes."""

import os
from collections.abc import Iterator

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import (
    CoveragePhaseConfig,
    GenerationConfig,
    PhasesConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from planner.plans.models import SavedPlan
from planner.wsgi import application
from tests.api.conftest import caller
from tests.plans.conftest import People

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
CONFIG = SchemathesisConfig(
    projects=ProjectsConfig(
        default=ProjectConfig(
            generation=GenerationConfig(
                deterministic=True, max_examples=EXAMPLES, modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
            ),
            phases=PhasesConfig(coverage=CoveragePhaseConfig(enabled=False)),
        )
    )
)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application, config=CONFIG)


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """The application closes connections between requests, and with them the transaction that a test is undone by."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def target(people: People, plan: SavedPlan) -> tuple[str, str]:
    """The token of somebody who may do everything, and the plan that it may be done to."""
    return caller(people.owner).headers["authorization"], plan.public_id


@pytest.mark.django_db
@pytest.mark.usefixtures("_one_connection")
@schema.parametrize()
@settings(suppress_health_check=list(HealthCheck))
def test_no_call_fails_or_answers_something_else(case: schemathesis.Case, target: tuple[str, str]) -> None:
    token, plan_id = target
    if len(case.path_parameters.get("plan_id", "")) == len(plan_id):
        case.path_parameters["plan_id"] = plan_id  # one that is there, instead of one that is only well-formed
    if case.path.endswith("/compare") and isinstance(case.body, dict):
        case.body.setdefault("devices", ["rtx-4090"])  # the whole table takes seconds and refuses nothing more
    case.call_and_validate(headers={"Authorization": token, "Accept-Encoding": "identity"}, checks=CHECKS)
