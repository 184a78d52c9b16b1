"""llama-server's own log lines for a simulated schedule, in the formats of several builds and envelopes, with the truth beside them.

Order, fields and rules as logs of real servers have them (b4798, b7079, b9873, b11434): what is printed when a slot is
chosen and a task launched, the progress of prompts and answers, the summary, the release.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from tests.core.simulation_reference import Job, Outcome, step_by_step
from tests.schedules import DAY_S, START_S, Account, Schedule, Truth

Build = Literal["b4798", "b7079", "b9873", "b11434"]
Envelope = Literal["default", "no timestamps", "no prefix", "jsonl", "colors", "journald", "docker"]

# Progress is printed for prompts that have taken this long, and for answers of so many tokens once in as many seconds.
EVERY_S: Final = 3.0
FIRST_TOKENS: Final = 100
# The machine had been up for so long when the server started; journald's clock said that.
_UPTIME_S: Final = 3_500.0
_WALL: Final = datetime(2026, 11, 29, 7, 15, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Style:
    """Who prints: a build of the server, and what is wrapped around its lines. Builds before b9247 print no time of themselves."""

    build: Build = "b11434"
    envelope: Envelope = "default"

    def __post_init__(self) -> None:
        if self.envelope == "jsonl" and not self.one_line_summaries:
            raise ValueError("--log-jsonl came after summaries had become single lines")

    @property
    def one_line_summaries(self) -> bool:
        return self.build in {"b9873", "b11434"}

    @property
    def release_first(self) -> bool:
        return self.build == "b4798"


@dataclass(slots=True)
class Written:
    """A log and what is true of it."""

    text: str
    account: Account
    outcome: Outcome

    @property
    def truths(self) -> list[Truth]:
        return self.account.truths()

    @property
    def idle_share(self) -> float:
        """Of a day, where the schedule is one."""
        return 1 - self.account.busy_s / max(DAY_S, self.outcome.end_s)


def write(schedule: Schedule, style: Style = Style()) -> Written:
    """The log of the whole schedule, from the server's start to its end."""
    account = Account(schedule)
    writer = _Writer(account, style)
    writer.start()
    outcome = step_by_step(schedule.scheduler, schedule.machine, schedule.source(), shared=schedule.shared_tokens, watch=writer)
    writer.line(outcome.end_s + START_S + 0.5, _srv("operator()", "operator(): cleaning up before exit..."))
    return Written("".join(writer.lines), account, outcome)


@dataclass(slots=True)
class _Printed:
    """What has been printed of a task's answer."""

    tokens: int = 0
    at_s: float = 0.0
    used_s: float = 0.0


@dataclass(slots=True)
class _Writer:
    """A `Watch` of the plain simulator that prints as the server does: between passes, slot by slot."""

    account: Account
    style: Style
    lines: list[str] = field(default_factory=list)
    printed: dict[int, _Printed] = field(default_factory=dict)
    last_use_s: dict[int, float] = field(default_factory=dict)
    launched: set[int] = field(default_factory=set)
    reused: int = 0

    def line(self, at_s: float, message: str, level: str = "I") -> None:
        own = f"{clock(at_s)} {level} " if self.style.one_line_summaries else ""
        self.lines.append(_ENVELOPES[self.style.envelope](at_s, level, own, message))

    def bare(self, at_s: float, message: str) -> None:
        """A further line of a message: no prefix of the server's own."""
        envelope = self.style.envelope if self.style.envelope in {"journald", "docker"} else "no prefix"
        self.lines.append(_ENVELOPES[envelope](at_s, "I", "", message))

    def slot(self, at_s: float, function: str, job: Job, message: str, *, task: int | None = None, level: str = "I") -> None:
        number = self.account.of(job).number if task is None else task
        self.line(at_s, _slot(function, job.slot, number, message), level)

    def start(self) -> None:
        scheduler = self.account.schedule.scheduler
        slots, context = scheduler.slots, scheduler.context_tokens
        if self.style.build == "b11434":
            self.line(0.0, _srv("llama_server", "initializing ..."))
            self.line(0.0, _line("cmn", "common_param", "common_params_print_info: verbosity = 3 (adjust with the `-lv N` CLI arg)"))
        self.line(0.0, _srv("load_model", "loading model 'model.gguf'"))
        if self.style.one_line_summaries:
            self.line(1.466176, _srv("load_model", f"initializing, n_slots = {slots}, n_ctx_slot = {context}, kv_unified = 'false'"))
            owner = "llama_server" if self.style.build == "b11434" else "init"
            self.line(1.473048, _srv(owner, "model loaded"))
            self.line(1.473055, _srv(owner, "listening on http://127.0.0.1:8080"))
            return
        self.line(1.4, _srv("init", f"initializing slots, n_slots = {slots}"))
        for slot in range(slots):
            size = f"n_ctx_slot = {context}" if self.style.build == "b4798" else f"n_ctx = {context}"
            self.line(1.4, _slot("init", slot, -1, f"new slot{' ' if self.style.build == 'b4798' else ', '}{size}"))
        self.line(1.473, _srv("update_slots", "all slots are idle"))

    def planned(self, now_s: float, jobs: list[Job], decoders: list[Job], chunks: list[tuple[Job, int]]) -> None:
        self.account.planned(now_s, jobs, decoders, chunks)
        at_s = now_s + START_S
        for job in jobs:
            if id(job) not in self.launched:
                self.launched.add(id(job))
                self.launch(at_s, job)
        batch = len(decoders)
        for job, count in chunks:
            batch += count
            self.before_chunk(at_s, job, count, batch)

    def launch(self, at_s: float, job: Job) -> None:
        if self.style.build != "b4798":
            self.slot(at_s, "get_available_slot", job, self.choice(job), task=-1)
        child = "" if self.style.build in {"b4798", "b7079"} else ", is_child = 0"
        self.slot(at_s, "launch_slot_with_task", job, f"processing task{child}")
        if job.cached == job.asked.prompt - 1 and self.style.build != "b4798":
            prompt, where = job.asked.prompt, "operator()" if self.style.build == "b11434" else "update_slots"
            text = f"need to evaluate at least 1 token for each active slot (n_past = {prompt}, task.n_tokens() = {prompt})"
            self.slot(at_s, where, job, text, level="W")
            self.slot(at_s, where, job, f"n_past was set to {prompt - 1}", level="W")

    def choice(self, job: Job) -> str:
        if job.similarity is None:
            used = self.last_use_s.get(job.slot)
            return f"selected slot by LRU, t_last = {-1 if used is None else round((used + _UPTIME_S) * 1e6)}"
        name = "f_sim_best" if self.style.build == "b11434" else "sim_best"
        return f"selected slot by LCP similarity, {name} = {job.similarity:.3f} (> 0.100 thold), f_keep = {job.kept:.3f}"

    def before_chunk(self, at_s: float, job: Job, count: int, batch: int) -> None:
        truth, asked = self.account.of(job), job.asked
        spent_s = at_s - truth.started_s
        if self.style.one_line_summaries:
            if spent_s >= EVERY_S:
                done = job.tokens - job.cached
                self.slot(
                    at_s,
                    "print_timings_pp",
                    job,
                    f"prompt processing, n_tokens = {done:6d}, progress = {job.tokens / asked.prompt:.2f}, "
                    f"t = {spent_s:6.2f} s / {done / spent_s:.2f} tokens per second",
                )
            return
        old = self.style.build == "b4798"
        if job.tokens == job.cached:
            context, length = self.account.schedule.scheduler.context_tokens, "n_prompt_tokens" if old else "task.n_tokens"
            self.slot(at_s, "update_slots", job, f"new prompt, n_ctx_slot = {context}, n_keep = 0, {length} = {asked.prompt}")
        kept = f"kv cache rm [{job.tokens}, end)" if old else f"n_tokens = {job.tokens}, memory_seq_rm [{job.tokens}, end)"
        self.slot(at_s, "update_slots", job, kept)
        after = job.tokens + count
        state = f"n_past = {after}, n_tokens = {batch}" if old else f"n_tokens = {after}, batch.n_tokens = {batch}"
        self.slot(at_s, "update_slots", job, f"prompt processing progress, {state}, progress = {after / asked.prompt:.6f}")
        if after == asked.prompt:
            self.slot(at_s, "update_slots", job, f"prompt done, {state}")

    def passed(self, start_s: float, end_s: float, decoders: list[Job], chunks: list[tuple[Job, int]]) -> None:
        self.account.passed(start_s, end_s, decoders, chunks)
        self.reused += not chunks
        at_s = end_s + START_S
        for job in sorted((*decoders, *(job for job, _ in chunks if job.times)), key=lambda job: job.slot):
            self.token(at_s, job)

    def token(self, at_s: float, job: Job) -> None:
        """The pass gave `job` a token."""
        printed = self.printed.setdefault(id(job), _Printed(at_s=at_s))
        tokens = len(job.times)
        if self.style.one_line_summaries and tokens >= FIRST_TOKENS and at_s - printed.at_s >= EVERY_S:
            word = "n_gen" if self.style.build == "b11434" else "n_decoded"
            steps = tokens - 1 if self.style.build == "b11434" else tokens
            average = steps / (at_s - self.account.of(job).first_token_s)
            lately = (tokens - printed.tokens) / (at_s - printed.at_s)
            self.slot(at_s, "print_timings_tg", job, f"{word} = {tokens:6d}, tg = {average:6.2f} t/s, tg_3s = {lately:6.2f} t/s")
            printed.tokens, printed.at_s = tokens, at_s
        if job.done:
            self.finish(at_s, job)

    def finish(self, at_s: float, job: Job) -> None:
        if self.style.release_first:
            self.release(at_s, job)
        lines = list(self.summary(job))
        if self.style.one_line_summaries:
            for line in lines:
                self.slot(at_s, "print_timings", job, line)
        else:
            self.slot(at_s, "print_timings", job, "")
            for line in lines:
                self.bare(at_s, line)
        if not self.style.release_first:
            self.release(at_s, job)
        self.last_use_s[job.slot] = at_s

    def release(self, at_s: float, job: Job) -> None:
        held = "n_past" if self.style.build == "b4798" else "n_tokens"
        self.slot(at_s, "release", job, f"stop processing: {held} = {job.tokens}, truncated = 0")

    def summary(self, job: Job) -> Iterator[str]:
        truth = self.account.of(job)
        prompt_ms, prompt = 1e3 * (truth.first_token_s - truth.started_s), truth.computed_tokens
        tokens, answer_ms = truth.output_tokens, 1e3 * (truth.ended_s - truth.first_token_s)
        steps = tokens - 1 if self.style.build == "b11434" else tokens
        answer_ms = max(answer_ms, 0.001)
        yield f"prompt eval time = {prompt_ms:10.2f} ms / {prompt:5d} tokens ({_speed(prompt_ms, prompt)})"
        yield f"       eval time = {answer_ms:10.2f} ms / {tokens:5d} tokens ({_speed(answer_ms, steps)})"
        yield f"      total time = {prompt_ms + answer_ms:10.2f} ms / {prompt + tokens:5d} tokens"
        if self.style.one_line_summaries:
            yield f"   graphs reused = {self.reused:10d}"


def _speed(ms: float, tokens: int) -> str:
    return f"{ms / tokens if tokens else 0.0:8.2f} ms per token, {1e3 * tokens / ms:8.2f} tokens per second"


def _line(source: str, function: str, message: str) -> str:
    return f"{source:4} {function[:12]:>12}: {message}"


def _srv(function: str, message: str) -> str:
    return _line("srv", function, message)


def _slot(function: str, slot: int, task: int, message: str) -> str:
    return _line("slot", function, f"id {slot:2d} | task {task} | {message}")


def clock(at_s: float) -> str:
    """Minutes, seconds, milliseconds and microseconds since the start, as the server prints them."""
    us = round(at_s * 1e6)
    return f"{us // 60_000_000}.{us // 1_000_000 % 60:02d}.{us // 1_000 % 1_000:03d}.{us % 1_000:03d}"


def _jsonl(at_s: float, level: str, _own: str, message: str) -> str:
    levels = {"I": "info", "W": "warn", "E": "error"}
    entry = {"type": "log", "time": round(at_s * 1e6), "level": levels[level], "msg": message + "\n"}
    return json.dumps(entry, separators=(",", ":")) + "\n"


def _colored(at_s: float, level: str, _own: str, message: str) -> str:
    return f"\x1b[34m{clock(at_s)}\x1b[0m \x1b[32m{level} \x1b[0m{message}\n"


def _journald(at_s: float, _level: str, own: str, message: str) -> str:
    wall = _WALL + timedelta(seconds=at_s)
    return f"{wall:%b %d %H:%M:%S} gpu1 llama-server[4711]: {own}{message}\n"


# How a line is wrapped: its time, its level, the prefix that the build prints of itself, and the message.
_ENVELOPES: Final[dict[Envelope, Callable[[float, str, str, str], str]]] = {
    "default": lambda _at_s, _level, own, message: f"{own}{message}\n",
    "no timestamps": lambda _at_s, level, _own, message: f"{level} {message}\n",
    "no prefix": lambda _at_s, _level, _own, message: f"{message}\n",
    "jsonl": _jsonl,
    "colors": _colored,
    "journald": _journald,
    "docker": lambda _at_s, _level, own, message: f"llama-1  | {own}{message}\n",
}
