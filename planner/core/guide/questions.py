"""Questions rather than symptoms: settings that seem to do nothing, and whether more hardware would help."""

from typing import Final

from planner.core.guide.commands import (
    GPU_MEMORY,
    LLAMA_REQUESTS,
    OLLAMA_ENVIRONMENT,
    OLLAMA_PS,
    VLLM_REQUESTS,
    log_of,
    vllm_metrics,
)
from planner.core.guide.symptom import Advice, Change, Check, Evidence, Symptom

_NO_EFFECT: Final = Symptom(
    slug="settings-have-no-effect",
    title="Settings do not take effect",
    seen="You set a variable or a flag, and the service behaves as before.",
    cause="A service does not see your shell: what you export there, or write into .bashrc, never reaches it. Or systemd was not told to read "
    "the file again, the service was not restarted, or the setting stands somewhere that something else overrides.",
    words="export bashrc environment variable ignored systemd override drop-in daemon-reload restart flag",
    related=("answers-are-cut-short", "waits-are-long"),
    evidence=(
        Evidence(
            "A context exported in the shell did nothing; the same variable in a drop-in did.",
            "ollama/ollama, issue 15848",
            "https://github.com/ollama/ollama/issues/15848",
        ),
        Evidence(
            "A server started with “enable-prefix-caching: false” in its config file ran with prefix caching on.",
            "our run of vLLM 0.32.0 on a CPU",
        ),
        Evidence(
            "Variables with a name that llama-server does not know, or no longer knows, are passed over without a word.",
            "our run of llama-server b11434",
        ),
    ),
    advice=(
        Advice(
            "ollama",
            "",
            (
                Check(OLLAMA_ENVIRONMENT, "your variable. If it is not there, no drop-in carries it, or systemd was not reloaded."),
                Check("journalctl --unit ollama --no-pager | grep 'server config' | tail -n 1", "the value that the running process has, in env=map[…]."),
            ),
            (
                Change("OLLAMA_CONTEXT_LENGTH", "in a drop-in", "In /etc/systemd/system/ollama.service.d/override.conf, under [Service], as Environment=; then daemon-reload and restart.", {}),
            ),
        ),
        Advice(
            "llama-server",
            "A flag in ExecStart wins over its variable. Some flags have no variable at all, and unknown variables are ignored.",
            (
                Check("systemctl show llama-server --property=Environment,ExecStart,NeedDaemonReload", "your setting, once; NeedDaemonReload=no."),
                Check(log_of("llama-server", "will be overwritten|initializing, n_slots", since="-1d"), "a warning that the variable is overwritten by the flag; and the slots and context it really has."),
            ),
            (
                Change("--ctx-size", "in one place", "As variable or as flag, not both.", {}),
                Change("--no-kv-unified", "", "Its variable with NO in the name switches off whatever its value is: even 0 counts as set.", {}),
            ),
        ),
        Advice(
            "vllm",
            "Almost all its settings are flags; only a few have variables. A value in a config file gives way to the same flag on the command line.",
            (
                Check("systemctl show vllm --property=ExecStart,DropInPaths,NeedDaemonReload", "your flag in the last ExecStart; NeedDaemonReload=no."),
                Check(vllm_metrics("^vllm:cache_config_info"), "the values that the running engine has, as labels."),
            ),
            (
                Change("--no-enable-prefix-caching", "", "In a config file write “no-enable-prefix-caching: true”: a line that says false is dropped."),
                Change("--max-num-seqs", "in ExecStart=", "A drop-in must empty ExecStart= first, or there are two commands.", {}),
            ),
        ),
    ),
)  # fmt: skip

_CORES: Final = Symptom(
    slug="would-more-cores-help",
    title="Would more CPU cores help?",
    seen="The model runs on the CPU, or partly, and the machine could get more or faster cores.",
    cause="For reading prompts, yes: their tokens are computed side by side, and that work is divided among the cores. For writing answers, no: "
    "each token needs all active weights from memory once, and a few cores are enough to keep the memory busy. More threads than physical "
    "cores make it slower.",
    words="threads cpu upgrade hardware bandwidth decode prefill numa channels ram faster",
    related=("cpu-box-collapses", "slow-first-token"),
    evidence=(
        Evidence(
            "On a processor with 20 cores, more than three or four threads wrote no faster; the first token came sooner.",
            "llama.cpp, issue 12966",
            "https://github.com/ggml-org/llama.cpp/issues/12966",
        ),
        Evidence(
            "Eight threads read prompts faster than four, and wrote at the same speed.",
            "llama.cpp, pull request 2534",
            "https://github.com/ggml-org/llama.cpp/pull/2534",
        ),
        Evidence(
            "273 GB/s divided by 40.6 GB per token is 6.7 tokens/s; 4.0 to 4.2 were measured.",
            "NVIDIA/dgx-spark-playbooks, issue 79",
            "https://github.com/NVIDIA/dgx-spark-playbooks/issues/79",
        ),
    ),
    advice=(
        Advice(
            "llama-server",
            "",
            (
                Check("llama-bench -m model.gguf -p 512 -n 64 -t 2,4,8", "pp512 (reading) grows with the threads; tg64 (writing) stops growing early. There, memory is the limit."),
                Check("lscpu | grep -E 'Core|Socket|NUMA'", "the physical cores: threads beyond them only compete."),
            ),
            (
                Change("--threads", "where tg stops growing", "For writing; the default is the number of physical cores."),
                Change("--threads-batch", "all physical cores", "For reading. It has no variable."),
                Change("--model", "a file with fewer bits", "Fewer bytes per token: the one thing that makes writing faster on the same memory.", {"weights_quant": "Q4_K_M"}),
            ),
        ),
        Advice(
            "ollama",
            "It has no variable for threads; num_thread in a request or a Modelfile sets them.",
            (
                Check("top -b -n 1 | head -n 12", "while it writes: all cores busy although the speed does not rise with them. They wait for memory."),
                Check("lscpu | grep -E 'Core|Socket|NUMA'", "the physical cores: threads beyond them only compete."),
            ),
            (
                Change("OLLAMA_KV_CACHE_TYPE", "q8_0", "With long conversations the cache is read for every token, too.", {"cache_type": "q8_0"}),
                Change("OLLAMA_NUM_PARALLEL", "as many as needed", "Answers that are written together share one reading of the weights.", {"slots": None}),
            ),
        ),
    ),
)  # fmt: skip

_SECOND_GPU: Final = Symptom(
    slug="would-a-second-gpu-help",
    title="Would a second GPU help?",
    seen="The card is full or busy, and there is room for another.",
    cause="It depends on what binds. For memory, yes: twice the cache, and more than twice where the weights took most of the first card. For "
    "many people at once, yes: two servers, each with a whole model, share the load. For one person’s speed, hardly: layers divided "
    "between two cards are computed one after the other, and layers split across them talk over the bus for every token.",
    words="two cards multi-gpu tensor parallel nvlink pcie replica upgrade hardware vram",
    related=("waits-are-long", "out-of-memory-at-start"),
    evidence=(
        Evidence(
            "Four RTX 3090 on PCIe with a 27B model: as one group of four, 54 tokens/s for one person and 305 for 96; as two groups of two, 37 and 570.",
            "LottoLottoLotto/4x3090-llm-benchmarks",
            "https://github.com/LottoLottoLotto/4x3090-llm-benchmarks",
        ),
    ),
    advice=(
        Advice(
            "vllm",
            "",
            (
                Check(VLLM_REQUESTS, "waiting above 0 at busy hours: there is something to gain."),
                Check(vllm_metrics("^vllm:kv_cache_usage_perc"), "near 1 while requests wait: memory binds, and a card adds slots. Far below: compute binds, and a second server adds speed."),
            ),
            (
                Change("--tensor-parallel-size", "2", "Both cards share every layer: their memory adds up. It must divide the attention heads.", {"count": "2"}),
                Change("--data-parallel-size", "2", "A whole model on each card: the better choice without NVLink, if it fits on one."),
            ),
        ),
        Advice(
            "llama-server",
            "Layers are divided between the cards, and a token passes through one after the other.",
            (
                Check(LLAMA_REQUESTS, "deferred above 0 at busy hours: there is something to gain."),
                Check(GPU_MEMORY, "the card full: a second adds slots. The card at 100 % with memory to spare: a second server adds speed."),
            ),
            (
                Change("--split-mode", "layer", "The default: memory adds up, the speed of one answer stays.", {"count": "2"}),
                Change("--tensor-split", "by memory", "Only where the cards differ; it switches --fit off.", {"count": "2"}),
            ),
        ),
        Advice(
            "ollama",
            "A model that fits on one card is put on one card, and the other stays idle.",
            (
                Check(OLLAMA_PS, "a share of CPU in PROCESSOR: the second card’s memory would take it."),
                Check(GPU_MEMORY, "which of the cards are used."),
            ),
            (
                Change("OLLAMA_SCHED_SPREAD", "1", "Spreads a model over all cards, so that their memory adds up.", {"count": "2"}),
            ),
        ),
    ),
)  # fmt: skip

SYMPTOMS: Final = (_NO_EFFECT, _CORES, _SECOND_GPU)
