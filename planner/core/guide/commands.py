"""Commands that more than one symptom is confirmed with. Services have the names that Slotwise's own units give them."""

from typing import Final

LLAMA_REQUESTS: Final = "curl -s http://127.0.0.1:8080/metrics | grep -E '^llamacpp:requests_(processing|deferred)'"
VLLM_REQUESTS: Final = "curl -s http://127.0.0.1:8000/metrics | grep -E '^vllm:num_requests_(running|waiting)[{]'"
OLLAMA_ENVIRONMENT: Final = "systemctl show ollama --property=Environment"
# Ollama runs one llama-server per loaded model. Source: Ollama at fb30760, llm/server.go.
OLLAMA_CHILD: Final = "pgrep --list-full llama-server"
OLLAMA_PS: Final = "ollama ps"
SWAPPING: Final = "vmstat 1 5"
GPU_MEMORY: Final = "nvidia-smi --query-gpu=index,memory.used,memory.total,utilization.gpu --format=csv"
KERNEL_KILLS: Final = "journalctl --dmesg --since=-1d --no-pager | grep -i 'killed process'"


def log_of(service: str, pattern: str, *, since: str = "-10min") -> str:
    """The lines of a service's log that match an extended regular expression without quotes."""
    return f"journalctl --unit {service} --since={since} --no-pager | grep -E '{pattern}'"


def vllm_metrics(pattern: str) -> str:
    return f"curl -s http://127.0.0.1:8000/metrics | grep -E '{pattern}'"
