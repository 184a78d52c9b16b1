"""Symptoms of people who wait: for a slot, for the model, for the first token."""

from typing import Final

from planner.core.guide.commands import (
    LLAMA_REQUESTS,
    OLLAMA_CHILD,
    OLLAMA_ENVIRONMENT,
    OLLAMA_PS,
    VLLM_REQUESTS,
    log_of,
    vllm_metrics,
)
from planner.core.guide.symptom import Advice, Change, Check, Evidence, Symptom

_QUEUE: Final = Evidence(
    "Twenty people who generate for 12 s of every 90 s have 2.67 requests in flight on average. With 3 slots 61 % of their turns wait, "
    "with 4 it is 29 %, with 5 it is 11 %, with 6 it is 3.5 %.",
    "Closed queue M/M/c//N, as the planner computes it",
)

_LONG_WAITS: Final = Symptom(
    slug="waits-are-long",
    title="Each reply is normal, but waits are long",
    seen="Once the first word is there, text flows as fast as ever. Until then people wait, most of all at busy hours.",
    cause="All slots are taken, and requests queue for one. What counts is how many requests are in flight at the same moment. That number "
    "swings around its mean, so slots for the mean alone leave many turns waiting.",
    words="queue slow busy latency concurrent parallel users",
    related=("one-in-ten-waits", "http-503", "would-a-second-gpu-help"),
    evidence=(
        _QUEUE,
        Evidence(
            "With a limit of 64 requests, 9 ran and 55 waited: a larger limit alone moves the queue into the engine.",
            "noonghunna/club-3090, vLLM 0.27.1 on two RTX 3090",
            "https://github.com/noonghunna/club-3090",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "Requests beyond --max-num-seqs, or beyond what the cache holds, wait inside vLLM without an error.",
            (
                Check(VLLM_REQUESTS, "waiting stays above 0, and running stands at --max-num-seqs or below it."),
                Check(
                    log_of("vllm", "Waiting: [1-9]"),
                    "“KV cache usage” in these lines: near 100 % the memory is the limit, well below it --max-num-seqs is.",
                ),
            ),
            (
                Change("--max-num-seqs", "the slots you need", "The most requests that run at once.", {"slots": None, "wait_target": "5%"}),
                Change(
                    "--kv-cache-dtype",
                    "fp8",
                    "Where memory is the limit: half the bytes per token, so about twice the conversations.",
                    {"cache_type": "fp8", "slots": None},
                ),
            ),
        ),
        Advice(
            "llama-server",
            "Its queue has no limit, no time limit and, at the usual log level, no line in the log.",
            (
                Check(LLAMA_REQUESTS, "processing equals the number of slots while deferred is above 0. Needs --metrics."),
                Check(
                    log_of("llama-server", "stop processing|processing task"),
                    "“processing task” within a millisecond of another task’s “stop processing”: it had been waiting for that slot.",
                ),
            ),
            (
                Change("--parallel", "the slots you need", "The number of slots.", {"slots": None, "wait_target": "5%"}),
                Change(
                    "--ctx-size",
                    "slots × context",
                    "It is divided by the slots: raise it along with them, or every conversation gets less room.",
                    {"slots": None},
                ),
            ),
        ),
        Advice(
            "ollama",
            "By default it serves one request of a model at a time. Some model families are always served that way, whatever is set.",
            (
                Check(OLLAMA_ENVIRONMENT, "OLLAMA_NUM_PARALLEL: where it is missing, it is 1."),
                Check(OLLAMA_CHILD, "-np in the command line of the model’s process: the slots it really has. 1 although you set more: the family allows no more."),
            ),
            (
                Change("OLLAMA_NUM_PARALLEL", "the slots you need", "Requests served at once; each costs a whole context of cache.", {"slots": None, "wait_target": "5%"}),
            ),
        ),
    ),
)  # fmt: skip

_REFUSED: Final = Symptom(
    slug="http-503",
    title="Requests are refused with HTTP 503",
    seen="At busy moments clients get “server busy”, “currently busy” or “Service Unavailable” instead of an answer.",
    cause="The queue is full, or the model is not loaded yet. A short queue is on purpose: whoever is refused at once can try again, whoever "
    "stands in a long queue waits longer than they have patience. If it happens often, there are too few slots.",
    words="busy unavailable error queue full rejected overloaded",
    related=("waits-are-long", "slow-after-a-pause"),
    evidence=(
        Evidence(
            "Twelve requests at once against a limit of four: four answers, eight times 503, and no Retry-After header.",
            "our run of vLLM 0.32.0 on a CPU",
        ),
        Evidence(
            "A client that sent 1,319 requests at nearly the same time got 503 from Ollama, which logs each of them.",
            "IBM/prompt-declaration-language, issue 702",
            "https://github.com/IBM/prompt-declaration-language/issues/702",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "It refuses only if a queue limit is set, which it can do from 0.32 on. The limit counts running and waiting requests together.",
            (
                Check(vllm_metrics("^vllm:admission_rejections_total"), "a count above 0, and the reason beside it."),
                Check(VLLM_REQUESTS, "running and waiting together, close to the limit."),
            ),
            (
                Change("--max-num-queued-reqs", "slots + queue", "A longer queue refuses less and lets people wait longer.", {"patience": "60"}),
                Change("--max-num-seqs", "the slots you need", "More slots empty the queue faster.", {"slots": None}),
            ),
        ),
        Advice(
            "llama-server",
            "It never refuses because of its queue. A 503 comes while the model is loading, or from a proxy in front of it.",
            (
                Check("curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8080/health", "503 while it loads, 200 once it serves. 200 while clients get 503: it is the proxy."),
                Check(log_of("llama-server", "loading model|model loaded|sleeping state", since="-1h"), "“loading model” with no “model loaded” after it, or the pair again and again: it restarts."),
            ),
            (
                Change("--sleep-idle-seconds", "-1", "Never unloads: after a pause nobody waits for the model to load again."),
                Change("--parallel", "the slots you need", "Where a proxy limits the requests: more slots, then a higher limit there.", {"slots": None}),
            ),
        ),
        Advice(
            "ollama",
            "The text is “server busy, please try again.  maximum pending requests exceeded”.",
            (
                Check("journalctl --unit ollama --since=-1h --no-pager | grep -c '| 503 |'", "how many were refused in the last hour."),
                Check(OLLAMA_ENVIRONMENT, "OLLAMA_MAX_QUEUE, 512 where it is missing, and OLLAMA_NUM_PARALLEL, 1 where it is missing."),
            ),
            (
                Change("OLLAMA_NUM_PARALLEL", "the slots you need", "More slots empty the queue faster.", {"slots": None}),
                Change("OLLAMA_MAX_QUEUE", "what people have patience for", "A longer queue refuses less and lets people wait longer.", {"patience": "60"}),
            ),
        ),
    ),
)  # fmt: skip

_ONE_IN_TEN: Final = Symptom(
    slug="one-in-ten-waits",
    title="One user in ten waits far longer than the rest",
    seen="The average is fine, and most people are content. Now and then someone waits many times as long.",
    cause="Two things give a long tail. Requests come in clusters, and slots that suffice on average are short for a moment. Or one long "
    "prompt is being read, and whoever comes after it waits for its passes. A mean hides both: look at p95.",
    words="tail p95 p90 latency percentile outlier sometimes unlucky",
    related=("waits-are-long", "stream-freezes", "streams-stall-silently"),
    evidence=(
        _QUEUE,
        Evidence(
            "With a third of the cache for the same eight clients, half of the first tokens came within 2.5 s instead of 1.8 s, but one in ten took "
            "6.1 s or longer instead of 2.2 s.",
            "our run of vLLM 0.32.0 on a CPU",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "Its histograms tell the queue from the prompt.",
            (
                Check(vllm_metrics("^vllm:request_queue_time_seconds_(bucket|count)"), "one tenth of the requests beyond the bucket of one second: they queue."),
                Check(vllm_metrics("^vllm:request_prefill_time_seconds_(bucket|count)"), "one tenth far to the right instead: their own prompts are long."),
            ),
            (
                Change("--max-num-seqs", "slots for the tail", "Slots for 1 % of turns waiting instead of 5 %.", {"wait_target": "1%", "slots": None}),
                Change("--max-num-batched-tokens", "smaller", "Shorter steps: short prompts get in between the pieces of a long one.", {"pause_target": "0.3"}),
                Change("--long-prefill-token-threshold", "a quarter of the step", "Bounds what one long prompt takes of a step while others wait."),
            ),
        ),
        Advice(
            "llama-server",
            "A request that arrives during a pass is looked at when the pass ends, so long passes delay everybody.",
            (
                Check(f"while sleep 1; do {LLAMA_REQUESTS.replace('(processing|deferred)', 'deferred')}; done", "mostly 0, with short spells above it: slots are short for a moment."),
                Check(log_of("llama-server", "prompt processing, n_tokens"), "such lines while someone waited: a prompt had been read for more than 3 s already."),
            ),
            (
                Change("--parallel", "slots for the tail", "Slots for 1 % of turns waiting instead of 5 %.", {"wait_target": "1%", "slots": None}),
                Change("--batch-size", "smaller", "Shorter passes, so that others get in between them.", {"pause_target": "0.3"}),
            ),
        ),
        Advice(
            "ollama",
            "With one slot, whoever comes while an answer is written waits for all of it.",
            (
                Check(OLLAMA_ENVIRONMENT, "OLLAMA_NUM_PARALLEL: where it is missing, it is 1."),
                Check(log_of("ollama", "GIN.*POST", since="-1h"), "times that are a sum of others’ times, and end when another request ends."),
            ),
            (Change("OLLAMA_NUM_PARALLEL", "slots for the tail", "Slots for 1 % of turns waiting instead of 5 %.", {"wait_target": "1%", "slots": None}),),
        ),
    ),
)  # fmt: skip

_FIRST_TOKEN: Final = Symptom(
    slug="slow-first-token",
    title="The first token is slow on an idle server",
    seen="Nobody else is there, and yet it takes seconds until the first word. After that, text flows.",
    cause="The prompt is long, and all of it is read before the first word: system prompt, tools, documents and history. The time is the "
    "number of tokens not found in the cache, divided by the prefill rate. Reading is bound by arithmetic, not by memory.",
    words="ttft time to first token prefill prompt long context rag documents",
    related=("slow-after-a-summary", "slow-after-a-pause", "processor-shows-cpu"),
    evidence=(
        Evidence(
            "A prompt of 32,768 tokens took 18.8 s at 1,718 tokens/s, two at once 38.0 s, four 76.3 s: reading is shared, not added.",
            "0xSero/local-ai-registry, pull request 56, TabbyAPI on an RTX PRO 4500",
            "https://github.com/0xSero/local-ai-registry/pull/56",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "",
            (
                Check(vllm_metrics("^vllm:request_prefill_time_seconds_(sum|count)"), "sum divided by count, close to what you wait: it is the reading."),
                Check(vllm_metrics("^vllm:prefix_cache_(hits|queries)_total"), "hits far below queries although turns begin alike: the cache does not hold them, or they differ at the start."),
            ),
            (
                Change("--enable-prefix-caching", "", "What the cache still holds of a conversation is not read again.", {}),
                Change("--max-num-batched-tokens", "larger", "Fewer, larger steps read faster, at the price of longer pauses for others.", {"pause_target": "2"}),
            ),
        ),
        Advice(
            "llama-server",
            "",
            (
                Check(log_of("llama-server", "prompt eval time"), "the tokens really read, and the rate. Thousands of tokens: that is the wait."),
                Check(log_of("llama-server", "selected slot by"), "“LRU”, or f_sim_best near 0: the slot held nothing of this prompt."),
            ),
            (
                Change("--gpu-layers", "all", "Layers left on the CPU read prompts many times more slowly.", {}),
                Change("--cache-ram", "MiB of free RAM", "Conversations that lost their slot are restored from RAM instead of being read again.", {}),
                Change("--threads-batch", "all physical cores", "On a CPU, reading scales with cores."),
            ),
        ),
        Advice(
            "ollama",
            "A long wait may also be the loading of the model, when nobody has used it for a while.",
            (
                Check(OLLAMA_PS, "“100% GPU”: with a share of CPU, prompts are read many times more slowly."),
                Check(log_of("ollama", "GIN.*POST"), "the whole time of a request, to be compared with the length of its prompt."),
            ),
            (
                Change("OLLAMA_CONTEXT_LENGTH", "what you need", "A smaller cache leaves room for all layers on the GPU.", {"context": "8192"}),
                Change("OLLAMA_KEEP_ALIVE", "-1", "A model that stays loaded keeps its cache, too.", {}),
            ),
        ),
    ),
)  # fmt: skip

_AFTER_A_PAUSE: Final = Symptom(
    slug="slow-after-a-pause",
    title="The first request after a pause is slow",
    seen="In the morning, or after lunch, the first answer takes many seconds longer than every later one.",
    cause="The model was unloaded while nobody used it, or the kernel dropped its pages from RAM, and it is read from the disk again.",
    words="unload cold start morning idle keep alive loading",
    related=("slow-first-token",),
    evidence=(Evidence("By default an idle model is unloaded after five minutes.", "Ollama at fb30760, envconfig/config.go"),),
    advice=(
        Advice(
            "ollama",
            "",
            (
                Check(OLLAMA_PS, "an empty list, or UNTIL a few minutes ahead; “Forever” is what you want."),
                Check(OLLAMA_ENVIRONMENT, "OLLAMA_KEEP_ALIVE: 5m where it is missing. A keep_alive in a request overrides it."),
            ),
            (
                Change("OLLAMA_KEEP_ALIVE", "-1", "The model stays loaded.", {}),
                Change("OLLAMA_MAX_LOADED_MODELS", "1", "No second model pushes this one out.", {}),
            ),
        ),
        Advice(
            "llama-server",
            "By itself it never unloads. A router does when another model is asked for, and on a CPU the kernel may drop mapped weights.",
            (
                Check(log_of("llama-server", "sleeping state|loading model", since="-1d"), "“entering sleeping state”, or “loading model” at the time of the slow request."),
                Check("vmstat 1 5", "run it during the slow request: “bi” in the thousands and a high “wa” mean that weights come from the disk."),
            ),
            (
                Change("--sleep-idle-seconds", "-1", "Never unloads."),
                Change("--load-mode", "mmap+mlock", "Keeps the weights in RAM; the plan does it on machines without a GPU.", {}),
                Change("--models-max", "as many as fit", "A router that keeps all its models loaded."),
            ),
        ),
    ),
)  # fmt: skip

_LORA: Final = Symptom(
    slug="lora-requests-wait",
    title="Requests with a LoRA adapter wait while others are served",
    seen="There are free slots, and still a request with another adapter does not start until the others have ended.",
    cause="Requests with different adapters cannot always share a pass, or there are fewer adapter places than adapters in use. They then "
    "take turns, and nothing bounds how long a turn is.",
    words="adapter fine-tune fairness starvation",
    related=("waits-are-long",),
    evidence=(
        Evidence(
            "Two clients that kept asking for one adapter held up a request of 40 tokens for another for 23.9 s, until they stopped.",
            "our run of llama-server b11434 on a CPU",
        ),
        Evidence(
            "Requests with different adapters are not batched together.",
            "llama.cpp, pull request 10994",
            "https://github.com/ggml-org/llama.cpp/pull/10994",
        ),
        Evidence(
            "One adapter took 34 % of the throughput, whether there was room for one or for four.",
            "vLLM, pull request 11267, A100",
            "https://github.com/vllm-project/vllm/pull/11267",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "Adapters share a batch as long as there are places for them. By default there is one.",
            (
                Check(vllm_metrics("^vllm:lora_requests_info"), "adapters among waiting_lora_adapters while max_lora is smaller than the number in use."),
                Check(VLLM_REQUESTS, "waiting above 0 although running is below --max-num-seqs."),
            ),
            (
                Change("--max-loras", "adapters used at once", "Places for adapters in one batch; their memory comes out of the cache.", {"adapters": "2"}),
                Change("--max-cpu-loras", "all adapters", "Adapters wait in RAM instead of on the disk."),
            ),
        ),
        Advice(
            "llama-server",
            "Requests with different adapters never share a pass. “processing task” is printed at once, and then nothing happens.",
            (
                Check("curl -s http://127.0.0.1:8080/lora-adapters", "more than one adapter, and clients that choose one per request."),
                Check(
                    log_of("llama-server", "processing task|total time"),
                    "for one task, much more time between the two lines than its own “total time”: it waited for the other adapter.",
                ),
            ),
            (
                Change("--lora", "one adapter per server", "A server for each adapter: nobody waits for another’s.", {"adapters": "1"}),
                Change("--lora-scaled", "one setting for all", "Requests that name no adapter all get this one, and share passes again.", {"adapters": "1"}),
            ),
        ),
    ),
)  # fmt: skip

SYMPTOMS: Final = (_LONG_WAITS, _REFUSED, _ONE_IN_TEN, _FIRST_TOKEN, _AFTER_A_PAUSE, _LORA)
