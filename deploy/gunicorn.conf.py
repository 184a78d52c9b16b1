"""How gunicorn serves Slotwise: `gunicorn -c deploy/gunicorn.conf.py planner.wsgi`, from the folder that holds manage.py."""

import os
import shutil
import tempfile

bind = os.environ.get("BIND", "127.0.0.1:8000")
# A plan is computed in Python: a process for each core, and threads for the time that the database or the Hub takes.
workers = int(os.environ.get("WEB_CONCURRENCY", os.cpu_count() or 2))
worker_class = "gthread"
threads = int(os.environ.get("THREADS", "4"))
timeout = 60
graceful_timeout = 30
keepalive = 5
# The address is the plan: gunicorn's own limit is half of what a pasted config.json may take.
limit_request_line = 8190
control_socket_disable = True
# Each request is one line of our own, with its id and without its address: planner/operations/journal.py.
accesslog = None

_metrics = "PROMETHEUS_MULTIPROC_DIR"
_made_here = bool(os.environ.get("METRICS_TOKEN")) and _metrics not in os.environ
if _made_here:
    os.environ[_metrics] = tempfile.mkdtemp(prefix="slotwise-metrics-")

if os.environ.get("LOG_FORMAT") == "json":
    _to_console = {"handlers": ["console"], "level": "INFO", "propagate": False}
    logconfig_dict = {
        "formatters": {"json": {"()": "planner.operations.log_lines.JsonLines"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": [], "level": "INFO"},
        "loggers": {"gunicorn.error": _to_console, "gunicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False}},
    }


def child_exit(server, worker):
    """A worker's counts stay; figures of the living are no longer its."""
    if _metrics in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)


def on_exit(server):
    if _made_here:
        shutil.rmtree(os.environ[_metrics], ignore_errors=True)
