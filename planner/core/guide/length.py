"""Symptoms of memory that runs out, and of text that ends too soon."""

from typing import Final

from planner.core.guide.commands import (
    GPU_MEMORY,
    KERNEL_KILLS,
    OLLAMA_ENVIRONMENT,
    OLLAMA_PS,
    log_of,
    vllm_metrics,
)
from planner.core.guide.symptom import Advice, Change, Check, Evidence, Symptom

_AT_START: Final = Symptom(
    slug="out-of-memory-at-start",
    title="Out of memory at the start",
    seen="The service does not come up, or starts again and again. Its log speaks of memory, cache blocks or buffers that cannot be allocated.",
    cause="Weights, work space and cache together do not fit into what is free. The cache is the part you choose: context × slots × bytes per "
    "token. Some engines set all of it aside before they serve anybody.",
    words="oom cuda allocate buffer crash loop cache blocks does not fit killed mamba",
    related=("out-of-memory-later", "processor-shows-cpu"),
    evidence=(
        Evidence(
            "“max_num_seqs (1024) exceeds available Mamba cache blocks (939)”: on a 96 GB card, the default for requests was beyond what a hybrid model can hold.",
            "vllm-project/recipes, pull request 831",
            "https://github.com/vllm-project/recipes/pull/831",
        ),
        Evidence(
            "7 GB of weights did not start in a budget of 24 GB: profiling the largest images took the rest.",
            "vLLM, issue 18124",
            "https://github.com/vllm-project/vllm/issues/18124",
        ),
        Evidence(
            "vLLM takes the first GPUs, even where another one is empty.",
            "vLLM, issue 20305",
            "https://github.com/vllm-project/vllm/issues/20305",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "Its messages name the number to change to.",
            (
                Check(
                    log_of("vllm", "KV cache is needed|No available memory|less than desired GPU memory|Mamba cache blocks|OutOfMemoryError", since="-1h"),
                    "which of them: cache too small for one request, no room at all, card in use by others, or too many requests for a hybrid model.",
                ),
                Check(GPU_MEMORY, "memory in use while vLLM is stopped: that share is not vLLM’s to have."),
            ),
            (
                Change("--max-model-len", "what you need", "One request at full length must fit, or vLLM refuses to start.", {"context": "8192"}),
                Change("--max-num-seqs", "fewer", "Hybrid models need a block of state for each; graphs and sampling need memory for each.", {"slots": "4"}),
                Change("--gpu-memory-utilization", "what is free", "Below what others leave free, or vLLM refuses to start.", {"memory_utilization": "0.85"}),
                Change("--max-num-batched-tokens", "2048", "Less work space: it grows with the tokens of a step.", {}),
                Change("--limit-mm-per-prompt", '{"image": 0}', "Where no images are wanted: their work space is not reserved."),
                Change("--enforce-eager", "", "No CUDA graphs: saves their memory, and decodes more slowly."),
            ),
        ),
        Advice(
            "llama-server",
            "All cells of the cache are allocated at the start. With --fit it shrinks only what you left unset.",
            (
                Check(log_of("llama-server", "failed to allocate|unable to allocate|failed to fit", since="-1h"), "which buffer: the model’s, the KV cache’s or the compute buffer."),
                Check(GPU_MEMORY, "memory in use while llama-server is stopped. Without a GPU, take “free -h”."),
            ),
            (
                Change("--ctx-size", "slots × what you need", "Left out, the cache is for the model’s whole training context, times the slots you ask for.", {"context": "8192"}),
                Change("--cache-type-k", "q8_0", "About half of the cache; --cache-type-v for the values, which need flash attention.", {"cache_type": "q8_0"}),
                Change("--ubatch-size", "256", "The compute buffer grows with it, on every card.", {}),
                Change("--n-cpu-moe", "as many as needed", "Experts of the first layers stay in RAM.", {}),
            ),
        ),
        Advice(
            "ollama",
            "It tries a smaller share of the GPU first, so that slowness is more common than a failed start.",
            (
                Check(log_of("ollama", "out of memory|failed to allocate|insufficient memory|more system memory", since="-1h"), "the buffer that did not fit, or how much is missing."),
                Check(GPU_MEMORY, "memory in use while no model is loaded. Without a GPU, take “free -h”."),
            ),
            (
                Change("OLLAMA_CONTEXT_LENGTH", "what you need", "The default may be 32,768 or 262,144 tokens on a large card.", {"context": "8192"}),
                Change("OLLAMA_NUM_PARALLEL", "fewer", "The cache is context × slots.", {"slots": "1"}),
                Change("OLLAMA_GPU_OVERHEAD", "bytes", "Leaves this much of each GPU to others."),
            ),
        ),
    ),
)  # fmt: skip

_LATER: Final = Symptom(
    slug="out-of-memory-later",
    title="Out of memory, or “Context size has been exceeded”, after hours",
    seen="It started well and served for a while. Then all running answers end at once, or the process is gone.",
    cause="More was promised than is there. A pool of cache that all slots share is full when their conversations are long at the same time. "
    "Or RAM beside the GPU fills up with saved prompts and snapshots, until the kernel ends the largest process.",
    words="oom killed crash abort all requests kv cache full unified pool kernel leak",
    related=("out-of-memory-at-start", "streams-stall-silently", "cpu-box-collapses"),
    evidence=(
        Evidence(
            "With -c 1024 and no -np, four slots each show 1,024 tokens and share them. When their sum exceeded it, all four answers ended.",
            "llama.cpp, issue 23652",
            "https://github.com/ggml-org/llama.cpp/issues/23652",
        ),
        Evidence(
            "Two requests with four drafted tokens each peaked 1.75 GB above the share of memory given, and failed with 535,000 tokens of cache free.",
            "noonghunna/club-3090, vLLM 0.27.1 on two RTX 3090",
            "https://github.com/noonghunna/club-3090",
        ),
    ),
    advice=(
        Advice(
            "llama-server",
            "Without --parallel, four slots share one pool, and each is shown the whole of it. Clients get HTTP 200 with an error inside the stream.",
            (
                Check(log_of("llama-server", "Context size has been exceeded|failed to find free space", since="-1d"), "bursts of the second, then one of the first for every running request."),
                Check(log_of("llama-server", "initializing, n_slots", since="-1d"), "kv_unified = 'true': the slots share n_ctx_slot, it is not theirs alone."),
            ),
            (
                Change("--no-kv-unified", "", "Each slot keeps its own share, whatever the others hold.", {}),
                Change("--parallel", "the slots you need", "Stated, each slot gets its share of --ctx-size.", {"slots": None}),
                Change("--kv-unified-per-slot", "a bound", "Keeps one pool, and bounds what one slot may take of it."),
                Change("--cache-ram", "what is free", "RAM for prompts that lost their slot: 8 GiB on top of all else, by default.", {}),
                Change("--ctx-checkpoints", "fewer", "Snapshots in RAM, up to 32 for each slot.", {}),
            ),
        ),
        Advice(
            "vllm",
            "A full cache leads to preemption, not to an error. What still runs out is memory outside the cache.",
            (
                Check(log_of("vllm", "OutOfMemoryError|EngineDeadError", since="-1d"), "“Tried to allocate”: it happened in a step, beside the cache."),
                Check(KERNEL_KILLS, "the process, if it was RAM and not the GPU’s memory."),
            ),
            (
                Change("--gpu-memory-utilization", "0.85", "More slack for what is not profiled.", {"memory_utilization": "0.85"}),
                Change("--max-num-batched-tokens", "2048", "Smaller steps, less scratch memory.", {}),
                Change("--mm-processor-cache-gb", "0", "Prepared images take RAM, 4 GiB by default."),
            ),
        ),
        Advice(
            "ollama",
            "Slots are private, so conversations cannot push each other out. Models can.",
            (
                Check(KERNEL_KILLS, "llama-server or ollama in the line: RAM was full."),
                Check(OLLAMA_PS, "more than one model, or a context far beyond what you need."),
            ),
            (
                Change("OLLAMA_MAX_LOADED_MODELS", "1", "One model at a time has the memory.", {}),
                Change("OLLAMA_CONTEXT_LENGTH", "what you need", "The cache is context × slots.", {"context": "8192"}),
            ),
        ),
    ),
)  # fmt: skip

_CUT_SHORT: Final = Symptom(
    slug="answers-are-cut-short",
    title="Answers are cut short",
    seen="An answer ends in the middle of a sentence, with finish_reason “length”, or the model has forgotten how the conversation began.",
    cause="Prompt and answer together have reached the context of the slot, or the client’s own limit of tokens. One number given for "
    "all slots may be divided by them, so that each gets less than you think.",
    words="truncated truncation length finish_reason max_tokens num_ctx context window forgets generation stops",
    related=("settings-have-no-effect", "out-of-memory-later"),
    evidence=(
        Evidence(
            "2,000 tokens of prompt and 500 wanted, in a context of 2,048: the answer had 48 tokens and the reason “length”.",
            "our run of vLLM 0.32.0 on a CPU",
        ),
        Evidence(
            "A context of 8,192 and two slots, stated explicitly, left each conversation 4,096.",
            "Jan, pull request 8534",
            "https://github.com/janhq/jan/pull/8534",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "",
            (
                Check(vllm_metrics("^vllm:request_success_total"), "the count for finished_reason=\"length\" beside the one for \"stop\"."),
                Check(vllm_metrics("^vllm:request_params_max_tokens_(sum|count)"), "sum divided by count: what clients allow an answer on average. As small as the answers: it is the client."),
            ),
            (
                Change("--max-model-len", "prompt + answer", "The most tokens of one request, prompt and answer together.", {"context": "16384"}),
            ),
        ),
        Advice(
            "llama-server",
            "--ctx-size is for all slots together.",
            (
                Check(log_of("llama-server", "truncated = 1|exceeds the available context size", since="-1d"), "the first: the answer reached the end of the slot. The second: the prompt alone was too long."),
                Check(log_of("llama-server", "initializing, n_slots", since="-1d"), "n_ctx_slot: what one conversation has."),
            ),
            (
                Change("--ctx-size", "slots × context", "It is divided by the slots.", {"context": "16384"}),
                Change("--predict", "-1", "No limit of the server’s own; a request’s limit still holds."),
                Change("--context-shift", "", "Goes on by dropping the oldest half: the model forgets instead of stopping."),
            ),
        ),
        Advice(
            "ollama",
            "Below 23 GiB of GPU memory the default context is 4,096 tokens. A num_ctx in a request or a Modelfile wins over the variable.",
            (
                Check(OLLAMA_PS, "CONTEXT: what one conversation has."),
                Check(OLLAMA_ENVIRONMENT, "OLLAMA_CONTEXT_LENGTH: if it is missing here, the service never got it."),
            ),
            (
                Change("OLLAMA_CONTEXT_LENGTH", "prompt + answer", "Tokens of one request; Ollama multiplies it by the slots itself.", {"context": "16384"}),
            ),
        ),
    ),
)  # fmt: skip

SYMPTOMS: Final = (_AT_START, _LATER, _CUT_SHORT)
