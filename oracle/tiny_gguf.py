"""Tiny random models for llama-server: made by llama.cpp's own generator, one for every architecture it knows.

`test-llama-archs` writes a file with random weights, the metadata of its architecture and a tokenizer without words. Its models
are trained for 256 tokens and have a window of 32, in which every cache looks alike; both are raised here, in place.
"""

import struct
import subprocess
from pathlib import Path

SEED = 20
CONTEXT = 8_192
WINDOW = 300
_U32 = 4
# A tensor with a row for every position: a model that has one keeps its context.
_LEARNED_POSITIONS = b"position_embd.weight"
_SECONDS = 300


def make(generator: Path, folder: Path) -> list[str]:
    """Every model the generator can make, in `folder`, once; their names, such as `gemma3-dense` or `deepseek2-moe`."""
    if not folder.exists():
        raw = folder.with_suffix(".raw")
        raw.mkdir(parents=True, exist_ok=True)
        command = [str(generator), "--arch", ".", "--seed", str(SEED), "--out", str(raw)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SECONDS)  # noqa: S603 - ours
        for path in raw.glob("*.gguf"):
            architecture = path.stem.rpartition("-")[0]
            if _LEARNED_POSITIONS not in path.read_bytes():
                set_number(path, f"{architecture}.context_length", CONTEXT)
            set_number(path, f"{architecture}.attention.sliding_window", WINDOW)
        raw.rename(folder)
    return sorted(path.stem for path in folder.glob("*.gguf"))


def set_number(path: Path, key: str, value: int) -> None:
    """Another value for a u32 of the metadata: (length of the key, key, type, value), all little-endian; nothing where it is missing."""
    content = bytearray(path.read_bytes())
    field = struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", _U32)
    start = content.find(field)
    if start >= 0:
        struct.pack_into("<I", content, start + len(field), value)
        path.write_bytes(content)
