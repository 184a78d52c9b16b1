"""What fewer bits or a shorter context do to answers: measured where somebody published it, else judged and marked so."""

from dataclasses import dataclass
from typing import Final, Literal

# Perplexity on Wikitext-2 and KL divergence of Llama 3 8B against its own 16 bits.
# llama.cpp tools/perplexity/README.md, LLaMA 3 8b scoreboard (Q4_K_M and IQ4_XS with an importance matrix, the others without).
_SCOREBOARD: Final = {
    "Q8_0": (6.234284, 0.001355),
    "Q6_K": (6.253382, 0.005452),
    "Q5_K_M": (6.288607, 0.010762),
    "Q4_K_M": (6.382937, 0.028152),
    "IQ4_XS": (6.459705, 0.036334),
    "Q3_K_M": (6.888498, 0.101913),
}
_FULL: Final = 6.233160
_SCOREBOARD_SOURCE: Final = "llama.cpp tools/perplexity/README.md, LLaMA 3 8b scoreboard"
_OTHERS: Final = "Other models differ: compare answers of yours before you settle."

# Kurtic et al., “Give Me BF16 or Give Me Death?”, arXiv:2411.02355: Llama 3.1 8B, 70B and 405B over academic and real-world tasks.
_PAPER: Final = "arXiv:2411.02355, Llama 3.1 8B to 405B"
_PAPER_SAYS: Final = {
    "FP8": "No loss that counts was found for 8-bit floating point at any size of Llama 3.1.",
    "INT8": "1 to 3 % of accuracy was lost with 8-bit integers that were tuned well.",
    "W4A16": "4-bit integer weights with 16-bit activations came close to 8 bits.",
}
_LIKE_W4A16: Final = frozenset({"AWQ", "GPTQ", "W4A16"})


@dataclass(frozen=True, slots=True)
class Risk:
    """What a change may cost in quality. `measured` names its source; `judged` is our own opinion and says so."""

    text: str
    grade: Literal["measured", "judged"]
    source: str


def weights_risk(name: str) -> Risk:
    """Of weights in the format called `name`, against the model's own 16 bits."""
    if name in _SCOREBOARD:
        perplexity, divergence = _SCOREBOARD[name]
        rise = (perplexity / _FULL - 1) * 100
        return Risk(
            f"Llama 3 8B's perplexity rose by {rise:.2g} % ({_FULL:.4f} to {perplexity:.4f}), with a KL divergence of {divergence:.4f}. {_OTHERS}",
            "measured",
            _SCOREBOARD_SOURCE,
        )
    said = _PAPER_SAYS.get("W4A16" if name in _LIKE_W4A16 else name)
    if said:
        return Risk(f"{said} {_OTHERS}", "measured", _PAPER)
    return Risk(f"Judgement: no measurement of {name} is named here. Fewer bits cost some quality; compare answers.", "judged", "")


def cache_risk(name: str) -> Risk:
    """Of a cache of the type called `name`, against 16 bits."""
    if name == "q8_0":
        return Risk(
            "Llama 3 8B in 16 bits: KL divergence 0.0010 with keys and values in q8_0, 0.0002 with f16, perplexity 6.2344 to 6.2322. "
            f"{_OTHERS} Long contexts and models with few KV heads suffer first.",
            "measured",
            "llama.cpp pull request 7412, 2024-05-20",
        )
    return Risk(
        f"Judgement: little for most models with {name}, more for long contexts; no measurement is named here. Compare answers.",
        "judged",
        "",
    )


def context_risk(tokens: int) -> Risk:
    return Risk(
        f"Judgement: answers within {tokens:,} tokens are the same. Longer conversations and documents are cut or refused, and their beginning is forgotten.",
        "judged",
        "",
    )
