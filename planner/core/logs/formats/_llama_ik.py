"""The lines of ik_llama.cpp's server, which kept llama.cpp's older form: a message, then `name=value` pairs.

Source: ik_llama.cpp examples/server/server.cpp as printed by builds 3671 to 3693 (2025).
"""

import re
from typing import Final

from planner.core.logs.formats._llama_tasks import Running, Tasks
from planner.core.logs.log import Log

# As part of a pattern: an alternative that says ik_llama.cpp's server wrote the line.
SPEAKS_IK: Final = rb"|(?:INFO|WARN|VERB) \[ {1,24}\w{2,24}\] "

_LINE: Final = re.compile(
    rb"(?:INFO|WARN|VERB|ERR) {1,2}\[ {0,24}\w{2,24}\] {1,12}(?:"
    rb"(slot is processing task)"  # 1
    rb"|prompt eval time {1,8}= {1,12}(\d{1,12}[.,]\d\d) ms / {1,9}(\d{1,9}) tokens"  # 2, 3
    rb"|generation eval time {1,8}= {1,12}(\d{1,12}[.,]\d\d) ms / {1,9}(\d{1,9}) runs"  # 4, 5
    rb"|(slot released)"  # 6
    rb"|(kv cache rm|total time|\w)"  # 7
    rb")[^\n]{0,300}? timestamp=(\d{1,12}) id_slot=(\d{1,4}) id_task=(\d{1,10})(?: [^\n]{0,120}?n_past=(\d{1,9})[^\n]{0,80}? truncated=(\w{4,5}))?"
)


class IkLines:
    def __init__(self, log: Log, tasks: Tasks) -> None:
        self._log = log
        self._tasks = tasks
        self.seen = False

    def task(self, block: bytes, start: int, _: int) -> None:
        found = _LINE.search(block, start, min(block.find(b"\n", start), start + 2000))
        if found is None:
            self._log.not_understood(block, start)
            return
        self.seen = True
        at_s = self._log.axis.at(int(found[8]))
        slot, number = int(found[9]), found[10]
        if found[1]:
            self._tasks.launch(number, slot, at_s)
            return
        task = self._tasks.running.get(number) or self._tasks.open(number, slot)
        if found[3]:
            task.prefill_s, task.computed = _seconds(found[2]), int(found[3])
        elif found[5]:
            task.generate_s, task.output, task.summary_s = _seconds(found[4]), int(found[5]), at_s
        elif found[6]:
            self._release(found, number, task, at_s)

    def _release(self, found: re.Match[bytes], number: bytes, task: Running, at_s: float) -> None:
        task.released, task.released_s = True, at_s
        if found[11]:
            task.slot_tokens, task.truncated = int(found[11]), found[12] == b"true"
        # Nothing says that a client went away: what has no summary was cancelled.
        task.cancelled = True
        self._tasks.end(number)


def _seconds(text: bytes) -> float:
    return float(text.replace(b",", b".")) / 1e3
