"""Every address of the site."""

from django.urls import URLPattern, URLResolver, include, path

from planner.api import docs
from planner.api.calls import api
from planner.operations import probes
from planner.web.views import (
    accuracy,
    change,
    config,
    curve,
    diagnose,
    files,
    glossary,
    guide,
    hardware,
    note,
    planner,
    review,
    simulate,
    startup,
)

handler500 = "planner.operations.outage.failed"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", planner.planner, name="planner"),
    path("accuracy/", accuracy.accuracy, name="accuracy"),
    path("config/", config.config, name="config"),
    path("curve/", curve.curve, name="curve"),
    path("diagnose/", diagnose.diagnose, name="diagnose"),
    path("files.zip", files.archive, name="archive"),
    path("files/<path:path>", files.file, name="file"),
    path("glossary/", glossary.glossary, name="glossary"),
    path("guide/", guide.guide, name="guide"),
    path("guide/<slug:slug>/", guide.symptom, name="symptom"),
    path("hardware/", hardware.hardware, name="hardware"),
    path("hardware/change/", change.change, name="hardware-change"),
    path("hardware/charts/<slug:name>/", hardware.chart, name="hardware-chart"),
    path("hardware/note/", note.note, name="hardware-note"),
    path("hardware/note.html", note.saved, name="hardware-note-file"),
    path("hardware/prices/", hardware.prices, name="hardware-prices"),
    path("hardware/table.<slug:kind>", hardware.table, name="hardware-table"),
    path("review/", review.review, name="review"),
    path("simulate/", simulate.simulate, name="simulate"),
    path("simulate/break/", simulate.bad_hours, name="bad-hours"),
    path("simulate/replay/", simulate.replay, name="replay"),
    path("simulate/sweep/", simulate.sweep, name="sweep"),
    path("startup/", startup.startup, name="startup"),
    path("", include("planner.accounts.urls")),
    path("", include("planner.plans.urls")),
    path("api/v1/docs", docs.docs, name="api-docs"),
    path("api/v1/", api.urls),
    path("healthz", probes.alive, name="health"),
    path("readyz", probes.ready, name="ready"),
    path("metrics", probes.figures, name="metrics"),
]
