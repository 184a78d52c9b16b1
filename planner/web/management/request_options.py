"""The options every command about a plan has, and the one way such a command refuses: a sentence on stderr and status 2."""

import os
import sys
from abc import ABC, abstractmethod
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner.core.draft import Source
from planner.core.errors import InputError, one_line
from planner.core.readers.json_text import MAX_BYTES, parse_config
from planner.core.request import PlanRequest, read_request
from planner.files import read_file
from planner.sources import find_model, fit_name, source_from_config, source_from_gguf_file
from planner.web import site

# Option, metavar, help. Values stay text here: read_request parses and checks them the same way for pages and scripts.
OPTIONS: Final = (
    ("--revision", "REV", "branch, tag or commit of the model on the Hub"),
    (
        "--device",
        "NAME",
        "catalogue device, for example rtx-4090, 2x3090 or 2x3090+1x4090; a CPU platform beside it says how fast the RAM is",
    ),
    ("--count", "N", "how many of them (1)"),
    ("--gpu-memory", "SIZE", "memory of one GPU: 24GiB, 24564MiB, 24GB; a bare number is bytes"),
    ("--ram", "SIZE", "main memory; alone: a machine without a GPU"),
    ("--ram-bandwidth", "GB_S", "bandwidth of the main memory in GB/s, where no platform is named that has it"),
    ("--reserved-memory", "SIZE", "left to the desktop and other programs on the first GPU (without one: of the RAM)"),
    ("--context", "TOKENS", "context of one conversation (8192)"),
    ("--users", "N", "people who use it (20)"),
    ("--usage", "KIND", "chat, coding, rag or agents: the duty cycle where none is given"),
    ("--generate-seconds", "S", "seconds generating per turn"),
    ("--turn-seconds", "S", "seconds from the start of one turn to the start of the next"),
    ("--prompt-tokens", "N", "prompt tokens of a turn, with --output-tokens and --think-seconds instead of the durations"),
    ("--output-tokens", "N", "tokens of an answer"),
    ("--think-seconds", "S", "pause between an answer and the next turn"),
    ("--prefill-rate", "TOK_S", "measured prefill speed of a single stream"),
    ("--decode-rate", "TOK_S", "measured decode speed of a single stream"),
    ("--engine", "NAME", "auto, llama-server, vllm or ollama (auto)"),
    ("--engine-version", "V", "the version to write files for (the newest known)"),
    ("--engine-args", "STRING", "a command line of the engine: its values win over the planner's"),
    ("--cache-type", "TYPE", "KV cache type as the engine names it (auto)"),
    ("--cache-type-k", "TYPE", "for keys only"),
    ("--cache-type-v", "TYPE", "for values only"),
    ("--slots", "N", "slots, 0 to let the plan choose (0)"),
    ("--wait-target", "P", "share of turns that may wait for a slot (0.05)"),
    ("--patience", "S", "seconds people are ready to wait in the queue (30)"),
    ("--pause-target", "S", "longest pause in mid-sentence when someone else sends a prompt (1)"),
    ("--weights-size", "SIZE", "size of the weights"),
    ("--weights-quant", "NAME", "weight format: Q4_K_M, awq, fp8 …"),
    ("--tensor-parallel", "N", "tensor-parallel size (all devices for vLLM)"),
    ("--pipeline-parallel", "N", "pipeline stages (1)"),
    ("--memory-utilization", "F", "share of GPU memory vLLM may use"),
    ("--cache-memory", "SIZE", "cache pool per GPU where it is known: skips the budget"),
    ("--bytes-per-token", "N", "cache bytes per token at 16 bit, for a model whose layers are not known here"),
    ("--adapters", "N", "LoRA adapters in use"),
    ("--images", "YES", "serve the images a model can see, yes or no (no)"),
    ("--switch-seconds", "S", "seconds a change of adapter takes"),
    ("--cached-share", "P", "share of prompt tokens found in the prefix cache"),
    ("--model-path", "PATH", "path or repository of the weights, for the files"),
    ("--host", "HOST", "address the server listens on, for the files"),
    ("--port", "PORT", "its port"),
)
# Given by their place: there is no option of that name to point to.
_POSITIONAL: Final = frozenset({"model", "logs"})


class RequestCommand(BaseCommand, ABC):
    """A command that plans first. `example` is what `--help` shows, `positional` the words it takes beside MODEL."""

    example = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, epilog=self.example, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter

        def one_line(message: str) -> NoReturn:
            parser.exit(2, f"{message} (see manage.py {subcommand} --help)\n")

        parser.error = one_line  # type: ignore[method-assign]
        return parser

    def add_request_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--config", metavar="FILE", help="a config.json to compute with; MODEL is then the served name")
        parser.add_argument("--gguf", metavar="FILE_OR_URL", help="a GGUF file: only its header is read")
        for option, metavar, text in OPTIONS:
            parser.add_argument(option, metavar=metavar, help=text.replace("%", "%%"))
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    @abstractmethod
    def run(self, options: Mapping[str, Any]) -> None:
        """What the command does. An InputError becomes its sentence."""

    def handle(self, **options: Any) -> None:
        try:
            self.run(options)
        except InputError as refusal:
            option = f"--{refusal.field.replace('_', '-')}: " if refusal.field and refusal.field not in _POSITIONAL else ""
            raise CommandError(f"{option}{refusal}", returncode=2) from None

    def run_from_argv(self, argv: list[str]) -> None:
        """Django prints “CommandError:” before the sentence; a script's user needs only the sentence."""
        parser = self.create_parser(argv[0], argv[1])
        try:
            self.execute(**vars(parser.parse_args(argv[2:])))
        except CommandError as refusal:
            sys.stderr.write(f"{one_line(str(refusal))}\n")
            sys.exit(refusal.returncode)
        except BrokenPipeError:
            # Whoever reads the answer (`| head`) has had enough. Python would complain once more when it closes the pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as problem:
            sys.stderr.write(f"The answer cannot be written: {problem.strerror}.\n")
            sys.exit(2)


def given_request(options: Mapping[str, Any]) -> PlanRequest:
    """The request in a command's options. Raises InputError for what cannot be used."""
    names = ["model", *(option.lstrip("-").replace("-", "_") for option, _, _ in OPTIONS)]
    return read_request({name: options[name] for name in names})


def given_source(request: PlanRequest, options: Mapping[str, Any]) -> Source | None:
    """The model in `--config` or `--gguf`, None where the request's own model is to be found."""
    config, gguf = options["config"], options["gguf"]
    if config is not None and gguf is not None:
        raise InputError("Give --config or --gguf, not both.", field="config")
    if config is not None:
        path = Path(config)
        read = parse_config(read_file(path, MAX_BYTES, field="config"))
        return source_from_config(request, read, name=options["model"] or fit_name(path.stem), where=one_line(path.name))
    if gguf is None:
        return None
    if "://" in gguf:
        return find_model(request.model_copy(update={"model": gguf}), site.hub())
    return source_from_gguf_file(Path(gguf), name=options["model"])
