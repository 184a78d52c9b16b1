"""The comparison with real engines, without an engine: what it reads from a log, and what it says of a run."""

import ast
import struct
from pathlib import Path

from oracle import checks, tiny_gguf
from oracle.checks import Run
from oracle.llama_server import printed_values

ROOT = Path(__file__).resolve().parents[2]

# llama-server b11434 on a tiny Qwen3.5, with three slots.
LOG = """
0.00.020.011 I llama_context: n_ctx                 = 6144
0.00.020.012 I llama_context: n_ctx_seq             = 2048
0.00.021.006 I llama_context:        CPU  output buffer size =     0.01 MiB
0.00.022.200 I llama_kv_cache: size =   12.00 MiB (  2048 cells,   1 layers,  3/3 seqs), K (f16):    6.00 MiB, V (f16):    6.00 MiB
0.00.023.100 I llama_memory_recurrent: size =    0.40 MiB (     3 cells,   2 layers,  3 seqs  0 rs_seq), R (f32):    0.03 MiB, S (f32):    0.38 MiB, P (f32):    0.00 MiB
0.00.029.000 I sched_reserve:        CPU compute buffer size =     7.91 MiB
0.00.051.000 I srv    load_model: initializing, n_slots = 3, n_ctx_slot = 2048, kv_unified = 'false'
""".splitlines()


def test_a_start_up_log_is_read_into_the_keys_of_the_expectation() -> None:
    assert printed_values(LOG) == {
        "n_ctx": 6144,
        "n_slots": 3,
        "n_ctx_slot": 2048,
        "kv_unified": False,
        "kv": [(2048, 1, 3, "6.00", "6.00")],
        "recurrent_bytes": "0.40",
        "output_bytes": "0.01",
        "compute_bytes": "7.91",
    }


def test_a_run_says_what_differed() -> None:
    good, bad, refused = (
        Run("llama-server", "a", "3 slots"),
        Run("llama-server", "b", "3 slots"),
        Run("vLLM", "c", "x", refused="Too long."),
    )
    for run, passed in ((good, True), (bad, False)):
        run.expect("lines", "n_ctx = 6144", passed=passed, detail="printed: n_ctx = 4096")
    shown = "\n".join(checks.table([good, bad, refused]))
    assert shown.count("lines: n_ctx = 6144: printed: n_ctx = 4096") == 1
    assert "not planned: Too long." in shown
    assert checks.summary([good, bad, refused]) == "3 runs, 1 not planned; 1 checks passed, 1 failed"


def test_a_number_of_a_gguf_file_is_replaced_in_place(tmp_path: Path) -> None:
    path, key = tmp_path / "tiny.gguf", b"llama.context_length"
    field = struct.pack("<Q", len(key)) + key + struct.pack("<I", 4)
    path.write_bytes(b"GGUF" + field + struct.pack("<I", 256) + b"rest")
    tiny_gguf.set_number(path, "llama.context_length", 8192)
    tiny_gguf.set_number(path, "llama.attention.sliding_window", 300)
    assert path.read_bytes() == b"GGUF" + field + struct.pack("<I", 8192) + b"rest"


def test_the_application_does_not_import_it() -> None:
    for path in (ROOT / "planner").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None) or ""]
            assert not isinstance(node, ast.Import | ast.ImportFrom) or not any(name.split(".")[0] == "oracle" for name in names), path
