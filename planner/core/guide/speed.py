"""Symptoms of text that comes slowly, or stops in the middle."""

from typing import Final

from planner.core.guide.commands import (
    GPU_MEMORY,
    LLAMA_REQUESTS,
    OLLAMA_CHILD,
    OLLAMA_PS,
    SWAPPING,
    log_of,
    vllm_metrics,
)
from planner.core.guide.symptom import Advice, Change, Check, Evidence, Symptom

_FREEZES: Final = Symptom(
    slug="stream-freezes",
    title="A stream freezes when someone else presses send",
    seen="Words flow, stop for a second or for many, and flow on. It happens when someone sends a long prompt.",
    cause="Reading and writing share passes. While a prompt is read, every pass carries one token for each stream and fills up with prompt, so "
    "a stream gets one token per pass. The pause is the tokens of a pass divided by the prefill rate.",
    words="stall hang stutter pause batching prefill interference itl freeze",
    related=("streams-stall-silently", "slow-first-token"),
    evidence=(
        Evidence(
            "While 4,000 tokens were read, a stream fell from 104 tokens/s to 0.18 with passes of 2,048 tokens (longest gap 14.7 s), "
            "from 108 to 0.36 with 512 (4.6 s) and from 92 to 1.31 with 128 (1.6 s). The prompt itself took about as long each time.",
            "our runs of llama-server b11434, one CPU thread",
        ),
        Evidence(
            "With 512 tokens per step the longest gap was 3.6 s, and the prompt of 6,000 tokens took 25 s; with 2,048 it was 7.7 s, and 16 s.",
            "our runs of vLLM 0.32.0 on a CPU",
        ),
        Evidence(
            "A stream fell from 273 to 6.6 tokens/s while a prompt of 64k tokens was read, with no lack of cache.",
            "local-inference-lab/vllm, issue 541",
            "https://github.com/local-inference-lab/vllm/issues/541",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "",
            (
                Check(vllm_metrics("^vllm:inter_token_latency_seconds_(bucket|count)"), "gaps in the buckets of a second and more, while most are in those of some milliseconds."),
                Check(vllm_metrics("^vllm:num_preemptions_total"), "unchanged over the pause: then it was a prompt. If it grows, it was a preemption."),
            ),
            (
                Change("--max-num-batched-tokens", "pause × prefill rate", "The tokens of one step: half of them, half the pause.", {"pause_target": "0.3"}),
                Change("--long-prefill-token-threshold", "a quarter of the step", "Bounds what one long prompt takes of a step beside others."),
            ),
        ),
        Advice(
            "llama-server",
            "",
            (
                Check(
                    log_of("llama-server", "tg_3s"),
                    "tg_3s far below tg in the same line: the last seconds were slow, not the whole answer.",
                ),
                Check(
                    log_of("llama-server", "prompt processing, n_tokens"),
                    "lines of another task at that time, whose n_tokens grows by nearly the batch size from one to the next.",
                ),
            ),
            (
                Change("--batch-size", "pause × prefill rate", "The tokens of one pass: half of them, half the pause. The ubatch makes no difference to it.", {"pause_target": "0.3"}),
                Change("--cache-prompt", "", "It is on by default: what the slot still holds of a prompt is not read again."),
            ),
        ),
        Advice(
            "ollama",
            "Ollama chooses the tokens of a pass itself, 256 to 2,048, and has no variable for it. If pauses matter, serve the model with llama-server.",
            (
                Check(OLLAMA_CHILD, "-b in the command line of the model’s process: the tokens of a pass."),
                Check(log_of("ollama", "GIN.*POST"), "a long request that overlaps the one that froze."),
            ),
            (
                Change("OLLAMA_NUM_PARALLEL", "1", "One after the other: nobody’s stream is interrupted, and everyone else waits.", {"slots": "1"}),
                Change("OLLAMA_CONTEXT_LENGTH", "shorter", "Bounds how long a prompt can be.", {"context": "4096"}),
            ),
        ),
    ),
)  # fmt: skip

_CPU: Final = Symptom(
    slug="cpu-box-collapses",
    title="Tokens per second collapse under load on a CPU box",
    seen="One person gets a usable speed. With three or four at once, it falls to a crawl, sometimes to a token every few seconds.",
    cause="Either the machine swaps, because weights, caches and the rest no longer fit into RAM. Then every token waits for the disk, and the "
    "fall is sudden. Or the memory’s bandwidth and the cores are shared by all streams, and the fall is even.",
    words="slow ram swap swapping bandwidth cpu-only laptop mini pc memory",
    related=("would-more-cores-help", "out-of-memory-later"),
    evidence=(
        Evidence(
            "Beside the slots, llama-server keeps up to 8 GiB of RAM for prompts that lost theirs, unless told otherwise.",
            "llama.cpp b11434, common/common.h, cache_ram_mib",
        ),
    ),
    advice=(
        Advice(
            "llama-server",
            "",
            (
                Check(SWAPPING, "“si” and “so” must be 0 in every line but the first. Anything else is swapping."),
                Check(
                    log_of("llama-server", "tg_3s"),
                    "several tasks at once, each with its share of the speed that one alone gets: bandwidth, not swapping.",
                ),
            ),
            (
                Change("--parallel", "fewer", "Fewer streams share the bandwidth, and fewer caches the RAM; the others wait.", {"slots": "2"}),
                Change("--ctx-size", "slots × a shorter context", "The cache is set aside at the start, whether it is used or not.", {"context": "4096"}),
                Change("--cache-type-k", "q8_0", "About half of the cache. The values need --cache-type-v, and flash attention with it.", {"cache_type": "q8_0"}),
                Change("--cache-ram", "512", "MiB for prompts that lost their slot, instead of 8 GiB.", {}),
                Change("--load-mode", "mmap+mlock", "The kernel cannot drop the weights.", {}),
            ),
        ),
        Advice(
            "ollama",
            "",
            (
                Check(SWAPPING, "“si” and “so” must be 0 in every line but the first. Anything else is swapping."),
                Check(OLLAMA_PS, "SIZE against the RAM that “free -h” calls available, and CONTEXT against what you need."),
            ),
            (
                Change("OLLAMA_NUM_PARALLEL", "fewer", "Each slot holds a whole context of cache, and shares the bandwidth.", {"slots": "1"}),
                Change("OLLAMA_CONTEXT_LENGTH", "shorter", "The cache is context × slots.", {"context": "4096"}),
                Change("OLLAMA_KV_CACHE_TYPE", "q8_0", "About half of the cache; needs flash attention.", {"cache_type": "q8_0"}),
                Change("OLLAMA_MAX_LOADED_MODELS", "1", "No second model beside this one.", {}),
            ),
        ),
    ),
)  # fmt: skip

_PROCESSOR: Final = Symptom(
    slug="processor-shows-cpu",
    title="100 % GPU was expected, and PROCESSOR shows CPU",
    seen="The card is there, yet “ollama ps” says something like “25%/75% CPU/GPU”, or answers are several times slower than they should be.",
    cause="Weights, cache and work space together are larger than the free memory of the card, so some layers stay in RAM. Every token then "
    "waits for them. The cache is often what tips it: it grows with context and slots, and defaults can be large.",
    words="ollama ps vram offload layers partial gpu not used slow",
    related=("out-of-memory-at-start", "settings-have-no-effect"),
    evidence=(
        Evidence(
            "The default context depends on the card: 4,096 tokens below 23 GiB of GPU memory, 32,768 from 23 GiB, 262,144 from 47 GiB.",
            "Ollama at fb30760, server/routes.go",
        ),
        Evidence(
            "The same model took 31 GB on one machine and 23 GB on another, which had chosen other numbers of slots.",
            "ollama/ollama, issue 10345",
            "https://github.com/ollama/ollama/issues/10345",
        ),
    ),
    advice=(
        Advice(
            "ollama",
            "",
            (
                Check(OLLAMA_PS, "PROCESSOR and CONTEXT: a context far beyond what you need is the usual reason."),
                Check(GPU_MEMORY, "memory in use before the model is loaded: a desktop or another program has it. No card in the list: the driver is the problem."),
            ),
            (
                Change("OLLAMA_CONTEXT_LENGTH", "what you need", "The cache is context × slots.", {"context": "8192"}),
                Change("OLLAMA_NUM_PARALLEL", "fewer", "Each slot holds a whole context of cache.", {"slots": "1"}),
                Change("OLLAMA_KV_CACHE_TYPE", "q8_0", "About half of the cache; needs flash attention.", {"cache_type": "q8_0"}),
                Change("OLLAMA_FLASH_ATTENTION", "1", "A quantised cache needs it.", {"cache_type": "q8_0"}),
            ),
        ),
        Advice(
            "llama-server",
            "With layers left at auto, --fit moves what does not fit to the CPU and starts all the same.",
            (
                Check(log_of("llama-server", "offloaded [0-9]+/[0-9]+ layers", since="-1d"), "fewer layers than the model has, such as 29/37. Needs --verbosity 4."),
                Check(GPU_MEMORY, "memory in use before the server starts: a desktop or another program has it."),
            ),
            (
                Change("--gpu-layers", "all", "The start fails instead of becoming slow.", {}),
                Change("--ctx-size", "slots × what you need", "Left out, the cache is for the model’s whole training context.", {"context": "8192"}),
                Change("--n-cpu-moe", "as few as fit", "Of a mixture of experts, the experts are what costs least speed in RAM.", {}),
            ),
        ),
    ),
)  # fmt: skip

_SUMMARY: Final = Symptom(
    slug="slow-after-a-summary",
    title="The server is slow after the conversation was summarised",
    seen="A long conversation goes well turn after turn. Then the application shortens or summarises it, and the next answer takes very long.",
    cause="The cache helps as far as a prompt begins like the one before. A summary changes the beginning, so everything after it is read "
    "again. A date, a list of files or a reordered tool near the top does the same in every turn. Models with sliding windows or recurrent "
    "layers can go back only to a snapshot.",
    words="prompt cache prefix miss compaction compact history edit system prompt swa checkpoint",
    related=("slow-first-token",),
    evidence=(
        Evidence(
            "The same prompt sent twice was read twice: the windows of the model’s layers no longer held its beginning.",
            "llama.cpp, issue 14157",
            "https://github.com/ggml-org/llama.cpp/issues/14157",
        ),
        Evidence(
            "Eight clients with 512 tokens in common at the start found 81 % of their prompt tokens in the cache.",
            "our run of vLLM 0.32.0 on a CPU",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "",
            (
                Check(vllm_metrics("^vllm:prefix_cache_(hits|queries)_total"), "both before and after a slow turn: queries grew by the prompt, hits by next to nothing."),
                Check(log_of("vllm", "Prefix cache hit rate"), "a rate that falls when the application summarises."),
            ),
            (
                Change("--enable-prefix-caching", "", "It is on by default for most models; a config file may have switched it off.", {}),
                Change("--kv-offloading-size", "GiB of free RAM", "Prefixes that left the GPU are found in RAM."),
                Change("--kv-cache-dtype", "fp8", "Twice the tokens in the same memory, so prefixes stay longer.", {"cache_type": "fp8"}),
            ),
        ),
        Advice(
            "llama-server",
            "",
            (
                Check(log_of("llama-server", "selected slot by|prompt eval time"), "“LRU” or a small f_sim_best, then a “prompt eval time” over nearly the whole prompt."),
                Check(log_of("llama-server", "forcing full prompt re-processing|erasing old context checkpoint"), "the first says that no snapshot reached far enough back. Needs --verbosity 4."),
            ),
            (
                Change("--ctx-checkpoints", "more", "More snapshots of windows and recurrent state, in RAM.", {}),
                Change("--swa-full", "", "Sliding windows keep everything and can go back anywhere; their cache grows to full size."),
                Change("--cache-ram", "MiB of free RAM", "A conversation that lost its slot is restored from RAM.", {}),
                Change("--cache-reuse", "256", "Reuses pieces that moved, by shifting them; not with images, nor with windows or recurrent layers."),
            ),
        ),
        Advice(
            "ollama",
            "Each slot remembers one conversation. With fewer slots than conversations, some have to be read again.",
            (
                Check(log_of("ollama", "GIN.*POST"), "the slow turn, many times as long as the one before it."),
                Check(OLLAMA_CHILD, "-np in the command line of the model’s process: the conversations that can be remembered."),
            ),
            (
                Change("OLLAMA_NUM_PARALLEL", "one for each conversation", "As many conversations stay in the cache.", {"slots": None}),
                Change("OLLAMA_KEEP_ALIVE", "-1", "With the model, its cache is lost.", {}),
            ),
        ),
    ),
)  # fmt: skip

_PREEMPTIONS: Final = Symptom(
    slug="streams-stall-silently",
    title="Streams stall for seconds, and the log says nothing",
    seen="No error and no long prompt, but under load an answer stops for many seconds, then goes on where it was.",
    cause="Preemption. The cache is full, so the engine takes the blocks of the request that came last, and reads its whole text again later. "
    "Requests are let in when their prompt fits; that their answers grow is not counted.",
    words="preempted preemption recompute kv cache full evicted pause metrics",
    related=("stream-freezes", "out-of-memory-later"),
    evidence=(
        Evidence(
            "Eight clients that needed 4,800 tokens of cache and had 2,560 saw 28 preemptions: gaps of up to 13.6 s instead of 1.9 s, and a fifth less "
            "text per second. The log had no line about it, and no request failed.",
            "our runs of vLLM 0.32.0 on a CPU",
        ),
        Evidence(
            "The periodic line has a place for preemptions, but its counter is set to zero before it is looked at.",
            "vLLM 0.32.0 and 0.33.0, vllm/v1/metrics/loggers.py",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "The log never mentions it; the counter does.",
            (
                Check(vllm_metrics("^vllm:num_preemptions_total"), "run it twice, a minute apart: a number that grows under load."),
                Check(vllm_metrics("^vllm:kv_cache_usage_perc"), "close to 1 when it grows."),
            ),
            (
                Change("--max-num-seqs", "what memory bears when all are full", "Fewer at once: the others wait, and nobody is read twice.", {"slots": None}),
                Change("--watermark", "0.05", "Keeps a share of the blocks free when a request is let in."),
                Change("--gpu-memory-utilization", "0.95", "More cache, if nothing else needs the card.", {"memory_utilization": "0.95"}),
                Change("--kv-cache-dtype", "fp8", "Half the bytes per token.", {"cache_type": "fp8"}),
            ),
        ),
        Advice(
            "llama-server",
            "It preempts nobody. With private slots the cache cannot run out; with one shared pool it ends requests instead.",
            (
                Check(log_of("llama-server", "failed to find free space|purging slot"), "any line: the shared pool is full, which ends requests instead of pausing them."),
                Check(LLAMA_REQUESTS, "deferred above 0: requests wait before they start, not in the middle."),
            ),
            (Change("--no-kv-unified", "", "Each slot keeps its own share, whatever the others hold.", {}),),
        ),
    ),
)  # fmt: skip

SYMPTOMS: Final = (_FREEZES, _CPU, _PROCESSOR, _SUMMARY, _PREEMPTIONS)
