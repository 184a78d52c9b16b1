"""Ollama's start-up lines: those of the llama-server it starts, and its own line with that server's command."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from planner.core.engines.contract import Base, Expectation, Printed
from planner.core.engines.llama_server.start_up import LlamaStartUp
from planner.core.engines.start_up_text import count

_COMMAND: Final = re.compile(r"--ctx-size +(\d{1,9})\b.{0,400}?--parallel +(\d{1,4})\b|\s-c +(\d{1,9})\b.{0,400}?\s-np +(\d{1,4})\b")
_LOAD: Final = re.compile(r"\bParallel:(\d{1,4}) .{0,200}?\bKvSize:(\d{1,9})\b")


class OllamaStartUp(LlamaStartUp):
    """See `engines.contract.StartUp` for what each member answers."""

    paste = (
        "Paste the lines of the server that Ollama starts: “initializing, n_slots = …”, “llama_kv_cache: size = …”, “llama_context: n_ctx …” "
        "(journalctl -u ollama)."
    )

    def printed(self, lines: Sequence[str]) -> tuple[Printed, ...]:
        return tuple({figure.key: figure for figure in (*_command(lines), *super().printed(lines))}.values())

    def base(self, expectation: Expectation) -> Base:
        """The same server without Ollama around it, so that every one of its options can be tried."""
        values = expectation.values
        own = super().base(expectation)
        words = (
            *own.words, "-b", str(values["n_batch"]), "-ub", str(values["n_ubatch"]), "-ctk", values["type_k"], "-ctv", values["type_v"],
            "-fa", "on" if values["flash_attn"] else "off",
        )  # fmt: skip
        return Base({"engine": "llama-server", "engine_version": f"b{values['build']}", "engine_args": "", "cache_type": "auto"}, words)


def _command(lines: Sequence[str]) -> Iterator[Printed]:
    """Slots and cells in the command line that Ollama logs, or in its request to load."""
    for line in lines:
        if match := _COMMAND.search(line):
            cells, slots = match[1] or match[3], match[2] or match[4]
        elif match := _LOAD.search(line):
            slots, cells = match[1], match[2]
        else:
            continue
        yield count("n_slots", "slots", slots)
        yield count("n_ctx", "cells of all slots", cells)
