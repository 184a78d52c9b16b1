"""What Ollama prints of itself while it starts and loads models: its own settings, and memory as it reckons with it."""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.record import Facts

Reader = Callable[[bytes, int, int, Facts], bool]

_VERSION: Final = re.compile(rb"\(version (\d[\w.+-]{0,60})\)")
_ENVIRONMENT: Final = re.compile(
    rb"\bOLLAMA_(NUM_PARALLEL|MAX_QUEUE|MAX_LOADED_MODELS|CONTEXT_LENGTH|KEEP_ALIVE|KV_CACHE_TYPE|FLASH_ATTENTION|SCHED_SPREAD|GPU_OVERHEAD):"
    rb"([\w.-]{1,40})(?=[ \]])"
)
_DEVICE: Final = re.compile(rb" library=(\w{1,20}) ")
_DEVICE_TOTAL: Final = re.compile(rb' total="(\d{1,6}(?:\.\d{1,3})?) ([KMGT])iB"')
_DEFAULT_CONTEXT: Final = re.compile(rb"default_num_ctx=(\d{1,9})")
# Options of the child's command line: llama-server's, and those of the runners before it.
_OPTION: Final = re.compile(rb" (-c|--ctx-size|-np|--parallel|-b|--batch-size|--n-gpu-layers|--threads) (\d{1,9})(?=[ \"\\])")
_LOAD: Final = re.compile(rb"\b(Parallel|BatchSize|KvSize|NumThreads|KvCacheType|FlashAttention):(\w{1,20})")
_LAYERS: Final = re.compile(rb"layers\.model=(\d{1,6}) layers\.offload=(\d{1,6})")
_NEEDED: Final = re.compile(rb'memory\.required\.(full|kv)="(\d{1,6}(?:\.\d{1,3})?) ([KMGT]?i?B)"')
_PART: Final = re.compile(
    rb'msg="(model weights|kv cache|compute graph)" device=([\w.-]{1,40}) size="(\d{1,6}(?:\.\d{1,3})?) ([KMGT]?i?B)"'
)
# What a model calls itself: its file is only a checksum.
_NAME: Final = re.compile(rb' name=(?:"([^"\n]{1,200})"|([^\s"]{1,200}))')
_GGUF_NAME: Final = re.compile(rb"general\.name str {1,40}= ([^\n]{1,200})")
_LOADED: Final = re.compile(rb"started in (\d{1,6}(?:\.\d{1,3})?) seconds")

_MIB: Final = {b"B": 1 / 2**20, b"K": 1 / 2**10, b"M": 1.0, b"G": 2.0**10, b"T": 2.0**20}
_OPTIONS: Final = {
    b"-c": "n_ctx", b"--ctx-size": "n_ctx", b"-np": "n_slots", b"--parallel": "n_slots", b"-b": "n_batch", b"--batch-size": "n_batch",
    b"--n-gpu-layers": "n_gpu_layers", b"--threads": "threads",
}  # fmt: skip
_LOADS: Final = {
    b"Parallel": "n_slots", b"BatchSize": "n_batch", b"KvSize": "n_ctx", b"NumThreads": "threads", b"KvCacheType": "kv_cache_type",
    b"FlashAttention": "flash_attention",
}  # fmt: skip
_PARTS: Final = {b"model weights": "weights_mib", b"kv cache": "kv_mib", b"compute graph": "compute_mib"}
_MOST_DEVICES: Final = 64


def _mib(number: bytes, unit: bytes) -> float:
    return round(float(number) * _MIB[unit[:1]], 3)


def _word(printed: bytes) -> int | bool | str:
    text = printed.decode()
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if re.fullmatch(r"\d{1,15}", text) else text


def read_settings(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """Its environment, defaults included. What is empty says nothing."""
    for found in _ENVIRONMENT.finditer(block, at, end):
        facts.values[found[1].decode().lower()] = _word(found[2])
    return True


def read_version(block: bytes, at: int, end: int, facts: Facts) -> bool:
    if found := _VERSION.search(block, at, end):
        facts.values["version"] = found[1].decode()
    return found is not None


def read_device(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """A card that it found, or the processor where it found none."""
    library, total = _DEVICE.search(block, at, end), _DEVICE_TOTAL.search(block, at, end)
    devices = facts.values.setdefault("devices", [])
    if library and isinstance(devices, list) and len(devices) < _MOST_DEVICES:
        devices.append({"library": library[1].decode(), "total_mib": _mib(total[1], total[2]) if total else None})
    return library is not None


def read_default_context(block: bytes, at: int, end: int, facts: Facts) -> bool:
    if found := _DEFAULT_CONTEXT.search(block, at, end):
        facts.values["default_num_ctx"] = int(found[1])
    return found is not None


def read_command(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """The child's command line. Without a model it is only asked what devices there are."""
    if block.find(b" --model ", at, end) < 0:
        return True
    loads = facts.values.get("model_loads")
    facts.values["model_loads"] = (loads if isinstance(loads, int) else 0) + 1
    for name in ("model", *_PARTS.values()):
        facts.values.pop(name, None)
    for found in _OPTION.finditer(block, at, end):
        facts.values[_OPTIONS[found[1]]] = int(found[2])
    return True


def read_load(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """What it asks of the runner of its own engine (0.11 to 0.30). It asks several times for less before it commits."""
    if block.find(b"Operation:commit", at, end) >= 0:
        for found in _LOAD.finditer(block, at, end):
            facts.values[_LOADS[found[1]]] = _word(found[2])
    return True


def read_offload(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """Layers and memory as it reckoned before 0.11."""
    if found := _LAYERS.search(block, at, end):
        facts.values |= {"layers": int(found[1]), "layers_on_gpu": int(found[2])}
    for needed in _NEEDED.finditer(block, at, end):
        facts.values["needed_mib" if needed[1] == b"full" else "kv_mib"] = _mib(needed[2], needed[3])
    return found is not None


def read_part(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """A part of memory on a device, since 0.11."""
    found = _PART.search(block, at, end)
    if found is None:
        return False
    name = _PARTS[found[1]]
    sizes = facts.values.get(name)
    facts.values[name] = round((sizes if isinstance(sizes, int | float) else 0.0) + _mib(found[3], found[4]), 3)
    if found[1] == b"model weights" and found[2] == b"CPU":
        facts.values["weights_cpu_mib"] = _mib(found[3], found[4])
    return True


def read_name(block: bytes, at: int, end: int, facts: Facts) -> bool:
    if found := _NAME.search(block, at, end):
        facts.values["model"] = (found[1] or found[2]).decode("utf-8", "replace")
    return True


def read_gguf_name(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """The model's stands before that of a projector."""
    if found := _GGUF_NAME.search(block, at, end):
        facts.values.setdefault("model", found[1].decode("utf-8", "replace").strip())
    return found is not None


def read_loaded(block: bytes, at: int, end: int, facts: Facts) -> bool:
    if found := _LOADED.search(block, at, end):
        facts.values["load_s"] = float(found[1])
    return found is not None


# Both come once in a start of the server, in this order.
BEGINS: Final[dict[bytes, Reader]] = {b'msg="server config"': read_settings, b'msg="Listening on ': read_version}
READERS: Final[dict[bytes, Reader]] = BEGINS | {
    b'msg="inference compute"': read_device,
    b'msg="vram-based default context"': read_default_context,
    b'msg="starting llama-server"': read_command,
    b'msg="starting runner"': read_command,
    b'msg="starting llama server"': read_command,
    b"msg=load request=": read_load,
    b'msg="" architecture=': read_name,
    b" general.name str": read_gguf_name,
    b" layers.model=": read_offload,
    b'msg="model weights"': read_part,
    b'msg="kv cache"': read_part,
    b'msg="compute graph"': read_part,
    b" started in ": read_loaded,
}
