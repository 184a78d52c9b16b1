"""`manage.py simulate`: what people will feel from a plan, by trying it on simulated users."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from planner.core.errors import InputError
from planner.core.simulating.hardship import hardships
from planner.core.simulating.hardship_report import hardships_json, hardships_text
from planner.core.simulating.recorded import Recorded, read_recorded
from planner.core.simulating.report import trials_json, trials_text
from planner.core.simulating.runs import Trial, points, read_axis, trials
from planner.core.simulation.request import SimulationRequest
from planner.files import open_file
from planner.recordings import bounded, read_recording
from planner.sources import find_model
from planner.web import site
from planner.web.management.request_options import OPTIONS, RequestCommand, given_request, given_source

MAX_LOG: Final = 2 * 2**30

EXAMPLE: Final = """
example:
  manage.py simulate Qwen/Qwen3-8B --device rtx-4090 --users 20 --prompt-tokens 1500 --output-tokens 300 \\
      --think-seconds 60 --policy llama-server --sweep batch=256,512,1024,2048
  manage.py simulate Qwen/Qwen3-8B --device rtx-4090 --users 20 --break
"""

BREAK: Final = (
    "try to break the plan: bad hours on its server (half as many users again, everyone at once, full conversations, two adapters, a long "
    "document, no pauses), the first that its limits do not survive, and those they do"
)

# Option, metavar, help: what `simulate` takes beside the options of a plan. They stay text here, as those do.
TRIAL_OPTIONS: Final = (
    ("--policy", "NAME", "llama-server, vllm, ollama, static or serial (the engine's own)"),
    ("--batch", "N", "tokens of a pass: n_batch, max_num_batched_tokens (the plan's)"),
    ("--max-queue", "N", "requests that may wait before the next is refused (no limit; the plan's for Ollama)"),
    ("--arrivals", "KIND", "closed: send, read, think, send again; poisson: independent; agents: no pause (closed)"),
    ("--duration", "S", "simulated seconds during which people send (14400)"),
    ("--seed", "N", "the same seed gives the same run (0)"),
    ("--variation", "V", "how prompts and answers vary: standard deviation over mean, 0 for all alike (1)"),
    ("--conversation-turns", "N", "turns of a conversation on average; its history grows (1: no history)"),
    ("--shared-tokens", "N", "tokens that every prompt begins with (0)"),
    ("--long-share", "P", "share of turns with a long prompt (0)"),
    ("--long-tokens", "N", "its new tokens (20000)"),
    ("--image-share", "P", "share of turns with an image (0)"),
    ("--image-tokens", "N", "its tokens (1000)"),
    ("--together", "YES", "everyone begins at the same moment, yes or no (no)"),
)


class Command(RequestCommand):
    help = "Try a plan on simulated users: time to first token, pauses, queue, preemptions; over a sweep of any option."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        for option, metavar, text in TRIAL_OPTIONS:
            parser.add_argument(option, metavar=metavar, help=text)
        parser.add_argument(
            "--replay", metavar="LOG", help="send what a llama-server log or a CSV of calls recorded (- for standard input)"
        )
        parser.add_argument("--break", action="store_true", help=BREAK)
        parser.add_argument(
            "--sweep",
            metavar="OPTION=A,B,C",
            action="append",
            default=[],
            help="a run for each value of any number, or of policy; repeatable",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        beside = next((name for name in ("sweep", "replay") if options["break"] and options[name]), None)
        if beside:
            raise InputError(f"--break tries hours of its own: leave --{beside} out.", field=beside)
        axes = [read_axis(text) for text in options["sweep"]]
        source = given_source(request, options) or find_model(request, site.hub())
        if options["break"]:
            tried = list(hardships(_values(options), source))
            self.stdout.write(json.dumps(hardships_json(tried), allow_nan=False) if options["json"] else hardships_text(tried))
            return
        recorded = _recorded(options["replay"]) if options["replay"] else ()
        done = list(self._watched(trials(_values(options), source, axes, recorded=recorded), len(points(axes))))
        if options["json"]:
            self.stdout.write(json.dumps(trials_json(done), allow_nan=False))
        else:
            self.stdout.write(trials_text(done))

    def _watched(self, running: Iterator[Trial], total: int) -> Iterator[Trial]:
        """The runs, with a line of progress where somebody watches. Ctrl-C ends the sweep with what there is."""
        try:
            for number, trial in enumerate(running, 1):
                yield trial
                if total > 1 and self.stderr.isatty():
                    self.stderr.write(f"\r{number} of {total} runs", ending="" if number < total else "\n")
        except KeyboardInterrupt:
            self.stderr.write("\nCancelled: what follows is as far as it got.")


def _values(options: Mapping[str, Any]) -> dict[str, Any]:
    names = ["model", *(option.lstrip("-").replace("-", "_") for option, _, _ in (*OPTIONS, *TRIAL_OPTIONS))]
    return {name: options[name] for name in names if name in SimulationRequest.model_fields}


def _recorded(name: str) -> tuple[Recorded, ...]:
    """The requests of a log, plain or gzipped."""
    if name == "-":
        return read_recorded(bounded(sys.stdin, MAX_LOG))
    with open_file(Path(name), field="replay") as raw:
        return read_recording(raw, name=name, most_bytes=MAX_LOG)
