"""llama-server's log as it is read: every way a request can begin and end, every envelope, restarts, and what nobody knows."""

import json
from dataclasses import replace

import pytest

from planner.core.errors import InputError
from planner.core.logs.reading import Reading, read
from planner.core.logs.record import Notice, Task

BEGIN = (
    "0.00.003.000 I srv  llama_server: initializing ...\n"
    "0.00.010.000 I srv    load_model: loading model '/srv/models/some-model.gguf'\n"
    "0.01.400.000 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'false'\n"
)
LAUNCH = (
    "0.02.000.000 I slot get_availabl: id  3 | task -1 | selected slot by LRU, t_last = -1\n"
    "0.02.000.100 I slot launch_slot_: id  3 | task 7 | processing task, is_child = 0\n"
)
PROGRESS = (
    "0.06.000.000 I slot print_timing: id  3 | task 7 | prompt processing, n_tokens =   2048, progress = 0.66, t =   4.00 s / 512.00 tokens per second\n"
    "0.12.000.000 I slot print_timing: id  3 | task 7 | n_gen =    101, tg =  33.65 t/s, tg_3s =  33.98 t/s\n"
)
SUMMARY = (
    "0.13.000.000 I slot print_timing: id  3 | task 7 | prompt eval time =    6000.50 ms /  3000 tokens (    2.00 ms per token,   499.96 tokens per second)\n"
    "0.13.000.010 I slot print_timing: id  3 | task 7 |        eval time =    4000.25 ms /   120 tokens (   33.62 ms per token,    29.75 tokens per second)\n"
    "0.13.000.020 I slot print_timing: id  3 | task 7 |       total time =   10000.75 ms /  3120 tokens\n"
    "0.13.000.030 I slot print_timing: id  3 | task 7 |    graphs reused =        118\n"
)
RELEASE = "0.13.000.100 I slot      release: id  3 | task 7 | stop processing: n_tokens = 3219, truncated = 0\n"
DENSE = BEGIN + LAUNCH + PROGRESS + SUMMARY + RELEASE

BARE = (
    "srv    load_model: loading model 'some-model.gguf'\n"
    "slot launch_slot_: id  1 | task 41 | processing task\n"
    "slot update_slots: id  1 | task 41 | new prompt, n_ctx_slot = 8192, n_keep = 0, n_prompt_tokens = 64\n"
    "slot update_slots: id  1 | task 41 | kv cache rm [0, end)\n"
    "slot update_slots: id  1 | task 41 | prompt processing progress, n_past = 64, n_tokens = 64, progress = 1.000000\n"
    "slot update_slots: id  1 | task 41 | prompt done, n_past = 64, n_tokens = 64\n"
    "{release_first}"
    "slot print_timing: id  1 | task 41 | \n"
    "prompt eval time =    1152.79 ms /    64 tokens (   18.01 ms per token,    55.52 tokens per second)\n"
    "       eval time =    9637.05 ms /   260 tokens (  370.67 ms per token,     2.70 tokens per second)\n"
    "      total time =   10789.84 ms /   324 tokens\n"
    "draft acceptance rate = 0.50000 (   10 accepted /    20 generated)\n"
    "{release_last}"
    "srv  update_slots: all slots are idle\n"
)
OLD_RELEASE = "slot      release: id  1 | task 41 | stop processing: n_past = 323, truncated = 0\n"


def reading(text: str | bytes) -> tuple[Reading, list[Task], list[Notice]]:
    found = read([text.encode() if isinstance(text, str) else text])
    items = list(found)
    return found, [item for item in items if isinstance(item, Task)], [item for item in items if isinstance(item, Notice)]


def only(text: str) -> Task:
    (task,) = reading(text)[1]
    return task


def codes(text: str) -> list[str]:
    return [notice.code for notice in reading(text)[2]]


def test_a_request_is_told_from_its_slot_to_its_release() -> None:
    task = only(DENSE)
    assert (task.number, task.run, task.slot, task.line, task.ending) == (7, 1, 3, 5, "finished")
    assert (task.prompt_tokens, task.computed_tokens, task.cached_tokens, task.output_tokens) == (3100, 3000, 100, 120)
    assert (task.prefill_s, task.generate_s, task.choice, task.truncated) == (pytest.approx(6.0005), pytest.approx(4.00025), "lru", False)
    # The log's first line is second 0.
    assert (task.launched_s, task.released_s, task.summary_s) == (pytest.approx(1.9971), pytest.approx(12.9971), pytest.approx(12.99701))
    assert task.first_token_s == pytest.approx(12.99701 - 4.00025)
    assert [(round(mark.at_s, 3), mark.tokens, mark.prefill) for mark in task.marks] == [(5.997, 2048, True), (11.997, 101, False)]


def test_the_start_says_what_it_printed_and_a_path_is_only_its_name() -> None:
    found, _, _ = reading(DENSE)
    assert found.facts.engine == "llama-server"
    assert found.facts.starts == 1
    values = dict(found.facts.values)
    assert (values["model"], values["n_slots"], values["n_ctx_slot"], values["kv_unified"]) == ("some-model.gguf", 4, 8192, False)
    assert "b9247 or later" in found.facts.format


@pytest.mark.parametrize(
    ("before", "after", "format_says"),
    [(OLD_RELEASE, "", "before about b7000"), ("", OLD_RELEASE, "before b9247")],
)
def test_summaries_on_lines_of_their_own_before_or_after_the_release(before: str, after: str, format_says: str) -> None:
    text = BARE.format(release_first=before, release_last=after)
    found, (task,), _ = reading(text)
    assert (task.ending, task.prompt_tokens, task.computed_tokens, task.output_tokens) == ("finished", 64, 64, 260)
    assert (task.prefill_s, task.generate_s) == (pytest.approx(1.15279), pytest.approx(9.63705))
    assert (task.draft_accepted, task.draft_generated) == (10, 20)
    assert task.launched_s is None
    assert format_says in found.facts.format
    assert (found.counts.unparsed_lines, found.counts.other_lines) == (0, 0)


JOURNAL = "Nov 29 12:00:{:02d} host llama-server[4711]: "
CONTAINER = "2026-11-29T12:00:{:02d}.000000000Z "


def enveloped(kind: str) -> bytes:
    lines = DENSE.splitlines()
    if kind == "colours":
        return "".join(f"\x1b[32m{line[:13]}\x1b[34m{line[13:]}\x1b[0m\n" for line in lines).encode()
    if kind == "jsonl":
        return "".join(
            json.dumps({"type": "log", "time": _micros(line), "level": "info", "msg": line[15:] + "\n"}, separators=(",", ":")) + "\n"
            for line in lines
        ).encode()
    if kind == "docker json":
        return "".join(
            json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-29T12:00:00Z"}, separators=(",", ":")) + "\n"
            for line in lines
        ).encode()
    if kind == "crlf":
        return DENSE.replace("\n", "\r\n").encode()
    prefix = {"journald": JOURNAL, "docker -t": CONTAINER, "compose": "llama-1  | ", "none": ""}[kind]
    return "".join(prefix.format(number) + line + "\n" for number, line in enumerate(lines)).encode()


def _micros(line: str) -> int:
    minutes, seconds, millis, micros = line.split(maxsplit=1)[0].split(".")
    return ((int(minutes) * 60 + int(seconds)) * 1000 + int(millis)) * 1000 + int(micros)


@pytest.mark.parametrize("kind", ["none", "journald", "docker -t", "docker json", "compose", "jsonl", "colours", "crlf"])
def test_every_envelope_says_the_same(kind: str) -> None:
    found, (task,), _ = reading(enveloped(kind))
    assert task == replace(only(DENSE), launched_s=pytest.approx(1.9971), marks=task.marks)
    assert [mark[1:] for mark in task.marks] == [(2048, True), (101, False)]
    assert (found.counts.unparsed_lines, found.counts.other_lines) == (0, 0)


def test_without_a_clock_of_its_own_the_one_around_it_counts() -> None:
    text = "".join(JOURNAL.format(number) + line[15:] + "\n" for number, line in enumerate(DENSE.splitlines()))
    task = only(text)
    assert (task.launched_s, task.released_s) == (4.0, 11.0)
    assert [mark.at_s for mark in task.marks] == [5.0, 6.0]


CHOICES = [
    ("LRU, t_last = -1", "lru", None),
    ("lru, t_last = -1", "lru", None),
    ("LCP similarity, f_sim_best = 0.989 (> 0.100 thold), f_keep = 0.990", "similarity", 0.989),
    ("LCP similarity, sim_best = 1.000 (> 0.100 thold), f_keep = 0.112", "similarity", 1.0),
    ("lcs similarity, lcs_len = 812, similarity = 0.540000", "similarity", 0.54),
    ("id (3)", "id", None),
]


@pytest.mark.parametrize(("said", "choice", "similarity"), CHOICES, ids=lambda value: str(value)[:24])
def test_how_the_slot_was_chosen_goes_with_the_request(said: str, choice: str, similarity: float | None) -> None:
    task = only(BEGIN + LAUNCH.replace("LRU, t_last = -1", said) + SUMMARY + RELEASE)
    assert (task.choice, task.similarity) == (choice, similarity)


def test_minutes_have_no_bound() -> None:
    text = (
        BEGIN.replace("0.00.", "3517.00.").replace("0.01.", "3517.01.")
        + LAUNCH.replace("0.02.", "3519.02.")
        + RELEASE.replace("0.13.", "3519.13.")
    )
    assert reading(text)[0].facts.values["first_clock_s"] == pytest.approx(3517 * 60 + 0.003)
    assert only(text).launched_s == pytest.approx(122, abs=0.01)


def test_decimal_commas_are_points() -> None:
    task = only(BEGIN + LAUNCH + SUMMARY.replace("6000.50", "6000,50").replace("4000.25", "4000,25") + RELEASE)
    assert (task.prefill_s, task.generate_s) == (pytest.approx(6.0005), pytest.approx(4.00025))


def test_lines_that_a_terminal_broke_are_read_whole() -> None:
    again = DENSE.replace("| task 7 |", "| task 9 |").replace("0.1", "0.2").replace(BEGIN, "")
    whole = [line for line in (DENSE + again).splitlines() if "srv" not in line]
    broken = "\n".join(line[begin : begin + 100] for line in whole for begin in range(0, len(line), 100))
    expected = [(task.number, task.prefill_s, task.output_tokens, len(task.marks)) for task in reading("\n".join(whole))[1]]
    assert [(task.number, task.prefill_s, task.output_tokens, len(task.marks)) for task in reading(broken)[1]] == expected
    assert expected[0][:3] == (7, pytest.approx(6.0005), 120)


CANCEL = "0.04.000.000 W srv          stop: cancel task, id_task = 7\n"
EMPTY_RELEASE = "0.05.000.000 I slot      release: id  3 | task 7 | stop processing: n_tokens = {}, truncated = 0\n"
ERROR = "0.02.000.200 E srv    send_error: task id = 7, error: {}\n"


def test_a_request_whose_client_went_away_is_cancelled_when_its_pass_ends() -> None:
    task = only(BEGIN + LAUNCH + CANCEL + EMPTY_RELEASE.format(134))
    assert (task.ending, task.released_s, task.output_tokens) == ("cancelled", pytest.approx(4.997), None)
    assert codes(BEGIN + LAUNCH + CANCEL + EMPTY_RELEASE.format(134)) == ["cancelled"]


def test_a_request_that_is_too_long_is_refused_and_the_cancel_after_it_is_none() -> None:
    said = "request (8692 tokens) exceeds the available context size (8192 tokens), try increasing it"
    text = BEGIN + LAUNCH + ERROR.format(said) + EMPTY_RELEASE.format(0) + CANCEL
    found, (task,), (notice,) = reading(text)
    assert (task.ending, task.asked_tokens, task.prompt_tokens) == ("refused", 8692, None)
    assert (notice.code, notice.value, notice.task, notice.line) == ("too_long", 8692, 7, 6)
    assert found.counts.unparsed_lines == 0


def test_an_old_refusal_takes_the_length_from_the_prompt_before_it() -> None:
    prompt = "0.02.000.150 I slot update_slots: id  3 | task 7 | new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens = 9000\n"
    text = (
        BEGIN
        + LAUNCH
        + prompt
        + ERROR.format("the request exceeds the available context size, try increasing it")
        + EMPTY_RELEASE.format(0)
    )
    assert (only(text).ending, only(text).asked_tokens) == ("refused", 9000)


def test_a_full_pool_is_one_notice_a_pass_and_fails_who_was_answering() -> None:
    full = "0.03.000.000 W srv        decode: failed to find free space in the KV cache, retrying with smaller batch size, off = 0, n_batch = 256, ret = 1\n"
    over = "0.03.000.100 E srv        decode: Context size has been exceeded. off = 0, n_batch = 1, ret = 1\n"
    text = BEGIN + LAUNCH + full * 10 + over + ERROR.format("Context size has been exceeded.") + EMPTY_RELEASE.format(4000)
    assert codes(text) == ["pool_full", "context_exceeded"]
    assert only(text).ending == "failed"


def test_a_request_with_no_summary_that_nobody_cancelled_generated_nothing() -> None:
    assert only(BEGIN + LAUNCH + EMPTY_RELEASE.format(300)).ending == "finished"


def test_what_the_log_does_not_show_the_end_of_is_cut() -> None:
    task = only(BEGIN + LAUNCH + PROGRESS)
    assert (task.ending, task.released_s, len(task.marks)) == ("cut", None, 2)


def test_what_the_log_does_not_show_the_beginning_of_has_no_launch() -> None:
    task = only(PROGRESS[PROGRESS.index("0.12") :] + SUMMARY + RELEASE)
    assert (task.ending, task.launched_s, task.run, task.output_tokens) == ("finished", None, 0, 120)
    assert only(RELEASE).ending == "cut"


def test_a_restart_cuts_what_ran_and_goes_on_in_time() -> None:
    text = BEGIN + LAUNCH + PROGRESS + DENSE
    found, tasks, _ = reading(text)
    assert [(task.number, task.run, task.ending) for task in tasks] == [(7, 1, "cut"), (7, 2, "finished")]
    assert found.facts.starts == 2
    assert found.counts.backwards == 0
    # The second start's first line that is read is its model: the axis goes on there.
    assert tasks[1].launched_s == pytest.approx(11.997 + 1.9901, abs=0.05)
    assert tasks[1].line == 12


def test_a_server_that_never_gets_to_its_first_request_starts_each_time() -> None:
    found, tasks, notices = reading(BEGIN * 3 + "0.01.500.000 E srv    load_model: failed to load model, '/srv/models/some-model.gguf'\n")
    assert (found.facts.starts, tasks, [notice.code for notice in notices]) == (3, [], ["start_failed"])


def test_a_clock_that_jumps_back_is_counted() -> None:
    text = BEGIN + LAUNCH + PROGRESS + LAUNCH.replace("task 7", "task 9").replace("id  3", "id  2")
    found, tasks, _ = reading(text)
    assert found.counts.backwards == 1
    assert [task.launched_s for task in tasks] == [pytest.approx(1.9971), pytest.approx(11.997)]


def test_what_a_slot_still_holds_when_another_request_gets_it_is_cut() -> None:
    tasks = reading(BEGIN + LAUNCH + LAUNCH.replace("task 7", "task 9"))[1]
    assert [(task.number, task.ending) for task in tasks] == [(7, "cut"), (9, "cut")]


def test_passes_over_the_prompt_are_marks_less_what_was_cached() -> None:
    rows = "".join(
        f"0.0{3 + number}.000.000 I slot   operator(): id  3 | task 7 | cached n_tokens = {tokens}, memory_seq_rm [{tokens}, end)\n"
        for number, tokens in enumerate((500, 2545, 4590))
    )
    assert [(mark.tokens, mark.prefill) for mark in only(BEGIN + LAUNCH + rows + SUMMARY + RELEASE).marks] == [(2045, True), (4090, True)]


TROUBLES = [
    ("W slot   operator(): id  3 | task 7 | slot context shift, n_keep = 0, n_left = 8191, n_discard = 4095", "context_shift", None),
    ("I slot   operator(): id  3 | task 7 | forcing full prompt re-processing due to lack of cache data", "full_reprocess", None),
    ("W slot create_check: id  3 | task 7 | erasing old context checkpoint (pos_min = 1, pos_max = 2)", "checkpoint_erased", None),
    ("W srv  try_clear_id: purging slot 2 with 4096 tokens", "purged_slot", 4096),
    ("W srv         alloc:  - making room for prompt cache entry, removing oldest entry (size = 12.500 MiB)", "cache_ram_full", 12.5),
    ("W srv        update:  - cache size limit reached, removing oldest entry (size = 35.367 MiB)", "cache_ram_full", 35.367),
    ("W srv         alloc:  - prompt state size 9000.250 MiB exceeds cache size limit 8192.000 MiB, skipping", "cache_ram_full", 9000.25),
    (
        "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory",
        "out_of_memory",
        None,
    ),
]


@pytest.mark.parametrize(("line", "code", "value"), TROUBLES, ids=[row[1] + str(number) for number, row in enumerate(TROUBLES)])
def test_lines_that_report_trouble_are_notices(line: str, code: str, value: float | None) -> None:
    found, _, (notice,) = reading(BEGIN + LAUNCH + f"0.05.000.000 {line}\n" + SUMMARY + RELEASE)
    assert (notice.code, notice.value, notice.line) == (code, value, 6)
    assert notice.at_s == pytest.approx(4.997)
    assert found.counts.unparsed_lines == 0


def test_an_answer_that_is_an_error_is_a_notice_and_one_that_is_not_is_none() -> None:
    text = BARE.format(release_first="", release_last=OLD_RELEASE)
    answers = "".join(f"srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 {status}\n" for status in (200, 503))
    (notice,) = reading(text + answers)[2]
    assert (notice.code, notice.value) == ("http_error", 503)


def test_after_a_context_shift_the_prompt_is_not_worked_out() -> None:
    shift = "0.05.000.000 " + TROUBLES[0][0] + "\n"
    task = only(BEGIN + LAUNCH + shift + SUMMARY + RELEASE)
    assert (task.prompt_tokens, task.computed_tokens, task.truncated) == (None, 3000, True)


def test_what_nobody_knows_is_counted_and_shown_without_anybodys_words() -> None:
    secret = (
        "0.05.000.000 I slot   operator(): id  3 | task 7 | a new message about /home/ann/prompts/secret.txt from 10.0.0.7:8080, "
        'key sk-abcdefghijklmnopqrstuvwxyz0123456789, prompt = "tell me a secret"\n'
    )
    found, _, _ = reading(BEGIN + LAUNCH + secret + "an application's own line\n" + SUMMARY + RELEASE)
    assert (found.counts.unparsed_lines, found.counts.other_lines) == (1, 1)
    (example,) = found.counts.unparsed_examples
    assert example.startswith("I slot   operator(): id  3 | task 7 | a new message about")
    assert not any(word in example for word in ("ann", "secret", "10.0.0", "sk-", "tell"))


def test_lines_of_the_server_that_no_rule_reads_are_told_from_foreign_ones() -> None:
    lines = (
        "0.05.000.000 I srv  update_slots: all slots are idle\n"
        "0.05.000.000 I srv  new_functio_: something that no build said before\n"
        "0.05.000.000 D que    start_loop: waiting for new tasks\n"
        "llama_context: n_batch = 2048\n"
        "INFO:     10.0.0.7:5512 - GET /chat 200\n"
    )
    counts = reading(BEGIN + LAUNCH + lines + SUMMARY + RELEASE)[0].counts
    assert (counts.unparsed_lines, counts.other_lines, counts.lines) == (1, 1, 15)


@pytest.mark.parametrize("place", range(0, len(DENSE), 37))
def test_a_log_cut_anywhere_is_read_without_complaint(place: int) -> None:
    for part in (DENSE[:place], DENSE[place:]):
        if "srv " in part or "slot " in part:
            assert all(task.ending in {"finished", "cut"} for task in reading(part)[1])


def test_foreign_lines_before_the_first_of_the_server_only_cost_a_count() -> None:
    found, tasks, _ = reading("something of another program\n" * 50_000 + DENSE)
    assert (len(tasks), found.counts.other_lines) == (1, 50_000)


@pytest.mark.parametrize(("text", "message"), [("", "The log is empty"), ("hello\nworld\n", "None of the 2 lines")])
def test_a_log_of_nothing_known_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reading(text)


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="there are llama-server"):
        read([b""], engine="mystery")


def test_lines_of_another_engine_among_them_are_said() -> None:
    stray = "".join(
        f"INFO 11-29 12:00:{second:02d} [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1.0 tokens/s, "
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
        for second in range(5)
    )
    assert reading(DENSE + stray + DENSE)[0].facts.values["also"] == ["vllm"]
    assert "also" not in reading(DENSE * 3)[0].facts.values


def test_requests_that_never_end_are_bounded_by_the_slots_that_anyone_runs() -> None:
    found = read(
        [
            BEGIN.encode(),
            *(
                f"0.02.000.000 I slot launch_slot_: id {number % 10_000:2} | task {number} | processing task\n".encode()
                for number in range(3000)
            ),
        ]
    )
    tasks = [item for item in found if isinstance(item, Task)]
    assert len(tasks) == 3000
    assert {task.ending for task in tasks} == {"cut"}


def test_a_long_answer_keeps_its_first_and_last_mark_and_its_stall() -> None:
    moments = [2 + 3 * number + (60 if number >= 1500 else 0) for number in range(3000)]
    rows = "".join(
        f"{moment // 60}.{moment % 60:02}.000.000 I slot print_timing: id  3 | task 7 | n_gen = {100 * (number + 1):6}, tg =  33.65 t/s, tg_3s =  33.98 t/s\n"
        for number, moment in enumerate(moments)
    )
    marks = only(BEGIN + LAUNCH + rows).marks
    assert len(marks) <= 256
    assert (marks[0].tokens, marks[-1].tokens) == (100, 300_000)
    assert {150_000, 150_100} <= {mark.tokens for mark in marks}


IK = (
    'INFO [                    main] build info | tid="1" timestamp=1748127000 build=3671 commit="0e001215"\n'
    'INFO [                    init] initializing slots | tid="1" timestamp=1748127100 n_slots=1\n'
    'INFO [                    init] new slot | tid="1" timestamp=1748127100 id_slot=0 n_ctx_slot=12288\n'
    'INFO [   launch_slot_with_task] slot is processing task | tid="1" timestamp=1748127207 id_slot=0 id_task=5\n'
    'INFO [            update_slots] kv cache rm [p0, end) | tid="1" timestamp=1748127207 id_slot=0 id_task=5 p0=0\n'
    "INFO [           print_timings] prompt eval time     =    1170.90 ms /    13 tokens (   90.07 ms per token,    11.10 tokens per second) "
    '| tid="1" timestamp=1748127268 id_slot=0 id_task=5 t_prompt_processing=1170.897 n_prompt_tokens_processed=13\n'
    "INFO [           print_timings] generation eval time =   59250.24 ms /   514 runs   (  115.27 ms per token,     8.68 tokens per second) "
    '| tid="1" timestamp=1748127268 id_slot=0 id_task=5 t_token_generation=59250.237 n_decoded=514\n'
    'INFO [           print_timings]           total time =   60421.13 ms | tid="1" timestamp=1748127268 id_slot=0 id_task=5 t_total=60421.134\n'
    'INFO [            update_slots] slot released | tid="1" timestamp=1748127268 id_slot=0 id_task=5 n_ctx=12288 n_past=526 n_system_tokens=0 '
    "n_cache_tokens=0 truncated=false\n"
)


def test_ik_llama_cpp_keeps_the_older_form() -> None:
    found, (task,), _ = reading(IK)
    assert (task.number, task.ending, task.prompt_tokens, task.computed_tokens, task.output_tokens) == (5, "finished", 13, 13, 514)
    assert (task.released_s or 0) - (task.launched_s or 0) == pytest.approx(61)
    values = dict(found.facts.values)
    assert (values["version"], values["n_slots"], values["n_ctx_slot"], found.facts.format) == ("b3671", 1, 12288, "ik_llama.cpp")
    assert found.counts.unparsed_lines == 0


START = """\
build_info: b9010-d05fe1d7d
srv    load_model: loading model '/home/ann/models/Some-30B.gguf'
print_info: n_layer               = 48
load_tensors: offloaded 40/49 layers to GPU
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 16384
llama_context: n_ctx_seq     = 4096
llama_context: n_batch       = 2048
llama_context: kv_unified    = false
llama_context:  CUDA_Host  output buffer size =     4.64 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 4096 cells
llama_kv_cache:      CUDA0 KV buffer size =   320.00 MiB
llama_kv_cache: size =  320.00 MiB (  4096 cells,  10 layers,  4/4 seqs), K (f16):  160.00 MiB, V (q8_0):  160.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 1024 cells
llama_kv_cache: size =   80.00 MiB (  1024 cells,  38 layers,  4/4 seqs), K (f16):   40.00 MiB, V (f16):   40.00 MiB
llama_memory_recurrent: size =   62.81 MiB (     1 cells,  40 layers,  1 seqs), R (f32):    2.81 MiB, S (f32):   60.00 MiB
sched_reserve:      CUDA0 compute buffer size =   304.75 MiB
sched_reserve:  CUDA_Host compute buffer size =    16.02 MiB
sched_reserve:      CUDA0 compute buffer size =   300.75 MiB
llama_adapter_lora_init_impl: loading lora adapter from 'adapter-a.gguf' ...
srv    load_model: initializing slots, n_slots = 4
slot   load_model: id  0 | task -1 | new slot, n_ctx = 4096
srv    load_model: prompt cache is enabled, size limit: 8192 MiB
"""


def test_a_start_in_full_is_read_by_the_names_of_the_facts() -> None:
    found, _, notices = reading(START)
    values = dict(found.facts.values)
    caches = values.pop("kv")
    assert values == {
        "version": "b9010", "commit": "d05fe1d7d", "model": "Some-30B.gguf", "n_layer": 48, "layers_on_gpu": 40, "layers": 49, "n_seq_max": 4,
        "n_ctx": 16384, "n_ctx_slot": 4096, "n_batch": 2048, "kv_unified": False, "output_mib": 4.64, "kv_mib": 400.0, "recurrent_mib": 62.81,
        "compute_mib": 316.77, "adapters": 1, "n_slots": 4, "cache_ram_mib": 8192,
    }  # fmt: skip
    assert [(cache["kind"], cache["cells"], cache["v_type"]) for cache in caches] == [
        ("full", 4096, "q8_0"),
        ("sliding window", 1024, "f16"),
    ]
    assert [(notice.code, notice.value) for notice in notices] == [("layers_on_cpu", 9)]
    assert (found.counts.unparsed_lines, found.counts.other_lines) == (0, 0)
