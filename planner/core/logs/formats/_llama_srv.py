"""What llama-server says of itself: its starts, what it refuses or gives up, caches that are full, answers that are errors.

Source of the formats: llama.cpp tools/server (SRV_ lines of server-context.cpp, server-queue.cpp, server-task.cpp, server-http.cpp) of
the builds that `_llama_slots` names.
"""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.formats._llama_clock import Clock
from planner.core.logs.formats._llama_start import Start
from planner.core.logs.formats._llama_tasks import Tasks
from planner.core.logs.log import Log
from planner.core.logs.record import Notice

# What may follow `srv  function: ` and says nothing that is wanted.
KNOWN: Final = (
    rb"all slots are idle|no tokens to decode|updating prompt cache|prompt cache|use `--cache-ram|for more info|  ?- |cleaning up|init: "
    rb"|model loaded|listening|server is listening|starting the main loop|local path|using \d|security:|context checkpoints|idle slots"
    rb"|preserve_reasoning|thinking|[Cc]hat format|conv_id|all results received|all tasks already|clearing cache|no slot is available"
    rb"|speculative|--cache-idle|reasoning budget|posting NEXT|decoding, decline|n_batch \(effective|http: |Context size has been exceeded"
    rb"|chat template|(?:done )?request: |loading model|stopping wait for next|ref: |got exception|failed to launch slot|operator\(\): "
)
HEADER: Final = rb"srv {1,14}[\w()]{1,16}: {1,2}"

_SRV: Final = re.compile(
    HEADER + rb"(?:[\w()]{1,24}: {1,2})?(?:"
    rb"task id = (\d{1,10}), error: ([^\n]{0,120})"  # 1, 2
    rb"|cancel task, id_task = (\d{1,10})"  # 3
    rb"|(?:done )?request: [^\n]{1,4000}? (\d{3})(?=\n|\\n)"  # 4
    rb"|initializing(?: slots)?, n_slots = (\d{1,6})(?:, n_ctx_slot = (\d{1,9}), kv_unified = '(\w{1,5})')?()"  # 5 to 8
    rb"|(loading model '|loading model\b|initializing \.\.\.|build_info: b?\d)"  # 9
    rb"|purging slot \d{1,6} with (\d{1,9}) tokens"  # 10
    rb"|(failed to find free space in the KV cache|failed to decode the batch: KV cache is full)"  # 11
    rb"|- (?:making room for prompt cache|cache (?:size|token) limit reached|prompt state size)[^\n\d]{0,80}(\d{1,9}\.\d{1,3}) MiB"  # 12
    rb"|prompt cache is enabled, size limit: (\d{1,9}) MiB"  # 13
    rb"|(failed to load model)"  # 14
    rb"|(" + KNOWN + rb")"  # 15
    rb")"
)  # fmt: skip
_ERROR, _CANCEL, _REQUEST, _SLOTS, _START, _PURGED, _FULL, _CACHE_RAM, _CACHE_LIMIT, _START_FAILED = 2, 3, 4, 8, 9, 10, 11, 12, 13, 14
_HEADED: Final = re.compile(HEADER)
_ASKED: Final = re.compile(rb"request \((\d{1,9}) tokens\)")
# How far before the first line that tells of a start its build may have been printed.
_LOOK_BACK: Final = 1 << 14


class ServerLines:
    """`line` is the handler of a Rule; `started` is called at each start of the server."""

    def __init__(self, log: Log, clock: Clock, tasks: Tasks, start: Start, *, started: Callable[[], None]) -> None:
        self._log = log
        self._clock = clock
        self._tasks = tasks
        self._start = start
        self._on_start = started
        self._markers: set[bytes] = set()
        self._full_line = -1
        self._said: dict[int, Callable[[re.Match[bytes], float | None], None]] = {
            _ERROR: self._error,
            _CANCEL: self._cancel,
            _REQUEST: self._request,
            _SLOTS: self._slots,
            _PURGED: self._purged,
            _FULL: self._pool_full,
            _CACHE_RAM: self._cache_ram,
            _CACHE_LIMIT: self._cache_limit,
            _START_FAILED: self._start_failed,
        }

    def line(self, block: bytes, start: int, at: int) -> None:
        at = block.find(b"srv", start)
        found = _SRV.match(block, at) if at >= 0 else None
        if found is None:
            if at >= 0 and _HEADED.match(block, at):
                self._log.not_understood(block, start)
            else:
                self._log.counts.other_lines += 1
            return
        which = found.lastindex
        if which == _START:
            self.marker(block, start, found[_START])
            self._clock.at(block, start, at)
        elif which in self._said:
            self._said[which](found, self._clock.at(block, start, at))

    def marker(self, block: bytes, start: int, marker: bytes) -> None:
        """One of the first lines of a start. The same one again, or one after requests: another start."""
        if marker in self._markers or not self._markers:
            self._markers.clear()
            self._on_start()
            before = block.rfind(b"\nbuild", max(start - _LOOK_BACK, 0), start)
            if before >= 0:
                self._start.build(block[before + 1 : block.find(b"\n", before + 1)])
        self._markers.add(marker)
        line = block[start : block.find(b"\n", start)]
        self._start.build(line)
        self._start.model(line)

    def served(self) -> None:
        """A request was launched: the next line of a start is of another."""
        self._markers.clear()

    def _put(self, code: str, at_s: float | None, *, task: int | None = None, value: float | None = None) -> None:
        self._log.put(Notice(code=code, line=self._log.line, at_s=at_s, task=task, value=value))

    def _error(self, found: re.Match[bytes], at_s: float | None) -> None:
        task = self._tasks.running.get(found[1])
        said = found[2]
        if b"exceeds the available context size" in said:
            asked = _ASKED.search(said)
            tokens = int(asked[1]) if asked else task.prompt if task else None
            if task:
                task.refused, task.asked = True, tokens
            self._put("too_long", at_s, task=int(found[1]), value=tokens)
            return
        if task:
            task.failed = True
        full = b"ontext size has been exceeded" in said or b"KV cache" in said
        self._put("context_exceeded" if full else "http_error", at_s, task=int(found[1]))

    def _cancel(self, found: re.Match[bytes], at_s: float | None) -> None:
        task = self._tasks.running.get(found[_CANCEL])
        # The same line follows a request that ended with an error.
        if task is not None and not (task.refused or task.failed or task.released):
            task.cancelled = True
            self._put("cancelled", at_s, task=task.number)

    def _request(self, found: re.Match[bytes], at_s: float | None) -> None:
        if found[_REQUEST] >= b"400":
            self._put("http_error", at_s, value=int(found[_REQUEST]))

    def _slots(self, found: re.Match[bytes], _: float | None) -> None:
        self._start.slots(int(found[5]), context=int(found[6]) if found[6] else None, unified=found[7] == b"true" if found[7] else None)

    def _purged(self, found: re.Match[bytes], at_s: float | None) -> None:
        self._put("purged_slot", at_s, value=int(found[_PURGED]))

    def _pool_full(self, _: re.Match[bytes], at_s: float | None) -> None:
        """A pass that finds no room says so some ten times in a row: once is enough."""
        if self._log.line != self._full_line + 1:
            self._put("pool_full", at_s)
        self._full_line = self._log.line

    def _cache_ram(self, found: re.Match[bytes], at_s: float | None) -> None:
        self._put("cache_ram_full", at_s, value=float(found[_CACHE_RAM]))

    def _cache_limit(self, found: re.Match[bytes], _: float | None) -> None:
        self._log.facts.values["cache_ram_mib"] = int(found[_CACHE_LIMIT])

    def _start_failed(self, _: re.Match[bytes], at_s: float | None) -> None:
        self._put("start_failed", at_s)
