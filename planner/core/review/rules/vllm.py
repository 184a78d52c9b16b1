"""vLLM: what it refuses at start, and what takes memory that is not there.

Sources: vLLM 0.32 v1/worker/utils.py (request_memory), v1/core/kv_cache_utils.py, config/scheduler.py, config/parallel.py, and its messages.
"""

import re
from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines._pasted import is_false
from planner.core.engines._pasted_container import docker_options
from planner.core.engines.contract import Setting
from planner.core.engines.vllm.defaults import batch_defaults, compute_capability, has_fp8_cache
from planner.core.engines.vllm.versions import rules_of
from planner.core.review.case import Case, Complaint

# What a desktop keeps of its card. Measured: 1,299 MiB on an RTX 3060 (11,902 − 10,603 MiB free, public report on llama.cpp's --fit).
DESKTOP_BYTES: Final = 1_299 * units.MIB
_EIGHT_BIT: Final = frozenset({"fp8", "fp8_e4m3"})
_BINARY_FRACTION: Final = re.compile(r"\d+\.\d+[KMG]")
_OLD_LIMIT: Final = re.compile(r"(\w+)=(\d+)")
_SHARED: Final = frozenset({"--ipc", "--shm-size"})


def _applies(case: Case) -> bool:
    return case.plan.engine.name == "vllm"


def _share(case: Case) -> float | None:
    given = case.option("--gpu-memory-utilization")
    try:
        return float(given.value or "") if given else None
    except ValueError:
        return None


def _size(case: Case, name: str) -> int | None:
    """A count as vLLM reads it: 16k is 16,000 and 16K is 16,384."""
    given = case.option(name)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", (given.value or "") if given else "")
    if not match:
        return None
    factor = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}[match[2]]
    return int(float(match[1]) * factor)


def _gpus(case: Case) -> int:
    return (_size(case, "--tensor-parallel-size") or 1) * (_size(case, "--pipeline-parallel-size") or 1)


def state_blocks(case: Case) -> Iterator[Complaint]:
    """Every running sequence of a model with recurrent layers needs a block for its state."""
    blocks = case.expect.get("num_blocks")
    recurrent = any(isinstance(store, StateStore) for store in case.plan.model.shape.stores())
    if not _applies(case) or not recurrent or not isinstance(blocks, int) or (case.pasted.form == "drop_in" and not case.pasted.program):
        return
    given = case.option("--max-num-seqs")
    default = batch_defaults(case.plan.node.device, rules_of(case.plan.engine.version))[0]
    sequences = _size(case, "--max-num-seqs") if given else default
    if sequences is None or sequences <= blocks:
        return
    yield case.complain(
        "state_blocks",
        given,
        numbers=("" if given else f"--max-num-seqs is not set: its default on this card is {default:,}. ")
        + f"The plan's memory makes {blocks:,} blocks",
        reason=f"Each running request holds a block for its recurrent state, so vLLM refuses to start: “max_num_seqs ({sequences}) exceeds "
        f"available Mamba cache blocks ({blocks})”.",
        replacement=case.write("--max-num-seqs"),
    )


def share_of_a_desktop(case: Case) -> Iterator[Complaint]:
    share, node, memory = _share(case), case.plan.node, case.plan.memory
    usual = DESKTOP_BYTES if node.device.device_class in {"consumer", "workstation", "custom"} else 0
    kept = node.reserved_bytes or usual
    if not _applies(case) or share is None or share <= memory.usable_bytes / memory.total_bytes + 1e-9:
        return
    left = (1 - share) * memory.total_bytes
    if left < kept:
        who = "The desktop and what else you named keep" if node.reserved_bytes else "A desktop on the card keeps about"
        yield case.complain(
            "share_of_a_desktop",
            case.option("--gpu-memory-utilization"),
            numbers=f"(1 − {share}) × {units.gib(memory.total_bytes)} = {units.gib(left)} for everything else",
            reason=f"{who} {units.gib(kept)}, and vLLM's own CUDA context comes on top: “Free memory on device … is less than desired GPU "
            "memory utilization”, and it does not start.",
            replacement=case.write("--gpu-memory-utilization"),
        )


def share_too_small(case: Case) -> Iterator[Complaint]:
    share, memory = _share(case), case.plan.memory
    fixed = memory.size_of("weights") + memory.size_of("overhead")
    if (
        not _applies(case)
        or share is None
        or case.option("--kv-cache-memory-bytes")
        or share * memory.total_bytes > fixed
        or _gpus(case) != _planned(case)
    ):
        return
    yield case.complain(
        "share_too_small",
        case.option("--gpu-memory-utilization"),
        numbers=f"{share} × {units.gib(memory.total_bytes)} = {units.gib(share * memory.total_bytes)}; weights and work need {units.gib(fixed)}",
        reason="Nothing is left for the cache: “No available memory for the cache blocks”, and vLLM does not start.",
        replacement=case.write("--gpu-memory-utilization"),
    )


def _planned(case: Case) -> int:
    return case.plan.engine.tensor_parallel * case.plan.engine.pipeline_parallel


def uneven_heads(case: Case) -> Iterator[Complaint]:
    size, shape = _size(case, "--tensor-parallel-size"), case.plan.model.shape
    if not _applies(case) or not size or size < 2:
        return
    heads = max(
        (store.heads for store in shape.stores() if isinstance(store, TokenStore) and store.kind in {"full", "sliding", "chunked"}),
        default=0,
    )
    uneven = shape.attention_heads % size != 0
    if not uneven and (not heads or heads % size == 0 or size % heads == 0):
        return
    numbers = f"{shape.attention_heads} attention heads" + (f" and {heads} KV heads" if heads and not uneven else "") + f" ÷ {size}"
    yield case.complain(
        "uneven_heads",
        case.option("--tensor-parallel-size"),
        numbers=numbers,
        reason="Each GPU must get the same number of heads: vLLM refuses this tensor-parallel size.",
        replacement=case.write("--tensor-parallel-size") or "leave it out: one GPU holds the model",
    )


def too_many_gpus(case: Case) -> Iterator[Complaint]:
    there = len(case.plan.node.devices)
    if _applies(case) and _gpus(case) > there:
        yield case.complain(
            "too_many_gpus",
            case.option("--tensor-parallel-size"),
            case.option("--pipeline-parallel-size"),
            numbers=f"{_gpus(case)} GPUs are asked for and the machine has {there}",
            reason="vLLM waits for GPUs that are not there and ends with an error.",
            replacement=case.write("--tensor-parallel-size") or "leave it out: one GPU holds the model",
        )


def first_gpus(case: Case) -> Iterator[Complaint]:
    """vLLM takes the first GPUs, busy or not."""
    there, used = len(case.plan.node.devices), _gpus(case)
    chosen = any(
        given.spelling in {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "--device-ids"}
        for given in case.pasted.given
    )
    inside = case.pasted.container or case.pasted.form in {"compose", "docker"}
    if not _applies(case) or used >= there or chosen or inside or not case.pasted.program:
        return
    ids = ",".join(str(number) for number in range(used))
    yield Complaint(
        "first_gpus",
        (),
        f"{used} of the machine's {there} GPUs are used, and nothing says which.",
        "vLLM takes the first ones, busy or not, and does not start where another process holds their memory.",
        f"CUDA_VISIBLE_DEVICES={ids}",
        (Setting(None, ids, "The GPUs this server may take: put in those that are free.", env="CUDA_VISIBLE_DEVICES"),),
    )


def eight_bit_cache(case: Case) -> Iterator[Complaint]:
    given, device = case.option("--kv-cache-dtype"), case.plan.node.device
    capability = compute_capability(device)
    if not _applies(case) or given is None or case.meaning(given) not in _EIGHT_BIT or not device.runs_cuda or capability is None:
        return
    if not has_fp8_cache(device):
        yield case.complain(
            "eight_bit_cache",
            given,
            numbers=f"{device.name} has compute capability {capability[0]}.{capability[1]}",
            reason="FP8 of this kind (e4m3) needs 8.9 with vLLM's usual attention: “type fp8e4nv not supported in this architecture”.",
            replacement=case.write("--kv-cache-dtype") if case.setting("--kv-cache-dtype") else case.write("--kv-cache-dtype", "fp8_e5m2"),
        )


def little_shared_memory(case: Case) -> Iterator[Complaint]:
    """Docker's 64 MB of /dev/shm end in an NCCL error as soon as GPUs talk to each other."""
    if not _applies(case) or _gpus(case) < 2:
        return
    options = {name for name, _ in docker_options(case.pasted.container)}
    in_docker = bool(case.pasted.container or case.pasted.form == "docker")
    in_compose = case.pasted.form == "compose"
    if (in_docker and not options & _SHARED) or (in_compose and not {"ipc", "shm_size"} & set(case.pasted.fields)):
        yield Complaint(
            "little_shared_memory",
            (),
            f"{_gpus(case)} GPUs in one container, and neither its shared memory nor the host's is given.",
            "The processes of several GPUs exchange data through /dev/shm; Docker's 64 MB end in “Error while creating shared memory segment”.",
            'shm_size: "10gb"' if in_compose else "--shm-size=10g",
        )


def false_in_config(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        if case.pasted.form == "config" and is_false(given.value) and not given.spelling.startswith("--no-"):
            key = given.spelling.lstrip("-")
            yield case.complain(
                "false_in_config",
                given,
                reason="vLLM drops a key whose value is false without a word: what is on by default stays on.",
                replacement=f"no-{key}: true",
            )


def small_pass(case: Case) -> Iterator[Complaint]:
    tokens, sequences = _size(case, "--max-num-batched-tokens"), _size(case, "--max-num-seqs")
    if _applies(case) and tokens and sequences and tokens < sequences:
        yield case.complain(
            "small_pass",
            case.option("--max-num-batched-tokens"),
            case.option("--max-num-seqs"),
            reason="Every running request gets at least one token of a pass: vLLM refuses to start where there are fewer tokens than requests.",
            replacement=f"{case.write('--max-num-batched-tokens')}\n{case.write('--max-num-seqs')}",
        )


def beyond_the_model(case: Case) -> Iterator[Complaint]:
    context, longest = _size(case, "--max-model-len"), case.plan.model.shape.max_context
    overridden = any(given.spelling in {"VLLM_ALLOW_LONG_MAX_MODEL_LEN", "--hf-overrides", "--rope-scaling"} for given in case.pasted.given)
    if _applies(case) and context and longest and context > longest and not overridden:
        yield case.complain(
            "beyond_the_model",
            case.option("--max-model-len"),
            numbers=f"the model was trained for {longest:,} tokens",
            reason="vLLM refuses a context beyond the model's own.",
            replacement=case.write("--max-model-len"),
        )


def beyond_the_cache(case: Case) -> Iterator[Complaint]:
    """One conversation of the full length does not fit, so vLLM does not start; left out, the length is the model's own."""
    cache, shape = case.plan.memory.cache_tokens, case.plan.model.shape
    whole = bool(case.pasted.program) or case.pasted.form in {"config", "compose"}
    context = _size(case, "--max-model-len") or (shape.max_context if case.option("--max-model-len") is None and whole else None)
    plain = not shape.bounded and len({type(store) for store in shape.stores()}) == 1
    sized = case.option("--kv-cache-memory-bytes") or case.option("--kv-cache-dtype")
    if not _applies(case) or not cache or not context or context <= cache or not plain or sized or _gpus(case) != _planned(case):
        return
    given = case.option("--max-model-len")
    yield case.complain(
        "beyond_the_cache",
        given,
        numbers=("" if given else f"--max-model-len is not set: the model's own is {context:,}. ") + f"The cache holds {cache:,} tokens",
        reason="One request of the full length does not fit into the cache, so vLLM does not start.",
        replacement=case.write("--max-model-len"),
    )


def fraction_of_k(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        if _applies(case) and _BINARY_FRACTION.fullmatch(given.value or ""):
            yield case.complain(
                "fraction_of_k",
                given,
                reason="vLLM takes no decimals before K, M or G (powers of 1,024); k, m and g (powers of 1,000) may have them.",
                replacement=case.write(case.name(given)) or f"{given.spelling} {(given.value or '').lower()}",
            )


def old_limit(case: Case) -> Iterator[Complaint]:
    given = case.option("--limit-mm-per-prompt")
    match = _OLD_LIMIT.fullmatch((given.value or "") if given else "")
    if _applies(case) and given is not None and match:
        yield case.complain(
            "old_limit",
            given,
            reason="vLLM takes JSON here; the older name=number is refused.",
            replacement=case.write("--limit-mm-per-prompt", f'{{"{match[1]}": {match[2]}}}'),
        )


RULES: Final = (
    state_blocks, share_of_a_desktop, share_too_small, uneven_heads, too_many_gpus, first_gpus, eight_bit_cache, little_shared_memory,
    false_in_config, small_pass, beyond_the_model, beyond_the_cache, fraction_of_k, old_limit,
)  # fmt: skip
