"""The glossary: one sentence or two for each of the field's words that a page uses."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    slug: str
    name: str
    meaning: str


TERMS: Final = (
    Term("token", "Token", "The unit a model reads and writes: about four characters of English, three quarters of a word."),
    Term(
        "context",
        "Context",
        "The tokens of one conversation that the model sees at once: system prompt, history, documents and the answer so far. "
        "Each engine reserves or bounds it per conversation.",
    ),
    Term(
        "kv-cache",
        "KV cache",
        "For every token of a conversation each attention layer keeps a key and a value vector, so that the next token need not "
        "compute them again. It grows with the context and lives beside the weights, usually in GPU memory.",
    ),
    Term("slot", "Slot", "Room for one request at a time: cache for a whole context. A request that finds no free slot waits."),
    Term(
        "in-flight",
        "In flight",
        "A request that is being computed or waits to be. Twenty people who read and type most of the time have two or three in flight.",
    ),
    Term(
        "duty-cycle",
        "Duty cycle",
        "How long a turn keeps the model busy, and how long it is from the start of one turn to the start of the next: 12 s of every 90 s.",
    ),
    Term("prefill", "Prefill", "Reading the prompt: all its tokens are computed side by side, which fills the arithmetic units."),
    Term(
        "decode",
        "Decode",
        "Writing the answer: one token after the other. Each pass reads all active weights, so memory bandwidth decides its speed.",
    ),
    Term("ttft", "TTFT", "Time to first token: from sending the request to the first token of the answer, waiting and prefill included."),
    Term("itl", "ITL", "Inter-token latency: the gap between two tokens of an answer. The longest one is the pause that people notice."),
    Term(
        "batching",
        "Continuous batching",
        "Requests join and leave the batch after every pass instead of waiting for each other. Reading the weights once then serves all of them.",
    ),
    Term(
        "prefix-cache",
        "Prefix cache",
        "The cache of a conversation’s beginning, kept after the answer, so that the next turn reads only what is new.",
    ),
    Term(
        "gqa",
        "MHA, MQA, GQA",
        "How many heads share one key and value: none, all, or groups of them. Eight KV heads for 32 heads need a quarter of the cache.",
    ),
    Term(
        "mla",
        "MLA",
        "Multi-head latent attention: one compressed vector per token and layer instead of keys and values.",
    ),
    Term(
        "sliding-window",
        "Sliding window",
        "A layer that looks back only a fixed number of tokens, so its cache stops growing there, if the engine makes use of it.",
    ),
    Term(
        "quantisation",
        "Quantisation",
        "Fewer bits per number, for the weights (Q4_K_M, AWQ, FP8) or the cache (q8_0, fp8). It saves memory and costs some quality.",
    ),
    Term(
        "tensor-parallel",
        "Tensor parallel",
        "Each layer split over several cards that compute every token together. KV heads are divided as far as there are enough.",
    ),
    Term(
        "closed-queue",
        "Closed queue",
        "A fixed number of people who think, ask and wait for the answer before they ask again. It cannot overflow, but it can be slow: M/M/c//N.",
    ),
    Term(
        "pause",
        "Pause",
        "The longest gap in an answer, usually because somebody else’s prompt is being read. It hides above the 99th percentile.",
    ),
    Term(
        "contention",
        "Contention",
        "What a turn takes longer because others run in the same passes: a little for each further answer, much while a long prompt is read.",
    ),
    Term("stall", "Stall", "A stretch in which an answer hardly gets a token, because every pass is full of somebody else’s prompt."),
    Term("queue-wait", "Queue wait", "From sending a request until its prompt is begun: no slot is free before. It is part of the TTFT."),
    Term(
        "preemption",
        "Preemption",
        "The cache is full: a request loses its place and its tokens are computed again later. Slots that fit with a full context prevent it.",
    ),
    Term(
        "utilisation",
        "Utilisation",
        "The share of time in which the machine computes. Near 100 % every further request waits for the others.",
    ),
    Term("knee", "Knee", "Where a curve turns most: before it a change costs little, behind it much."),
    Term(
        "break-point",
        "Break point",
        "The first value of an input at which the verdict is another one, all other inputs as they are: 37 users, 21,505 tokens.",
    ),
    Term(
        "frontier",
        "Frontier",
        "The machines that no other beats on two counts at once, such as price and slots: whatever lies off it has a better alternative.",
    ),
    Term(
        "weight-format",
        "Weight format",
        "How the weights are stored: 16 bits each, or fewer with some loss of quality (FP8, AWQ, Q4_K_M). Smaller weights leave room for more slots.",
    ),
    Term(
        "board-power",
        "Board power",
        "What a card may draw at full load by its maker. The machine around it, and the loss of its power supply, come on top.",
    ),
    Term("p95", "p95", "The value that is not exceeded in 95 of 100 cases. A mean hides what the unlucky ones get."),
    Term(
        "gib",
        "GiB and GB",
        "A GiB is 1,073,741,824 bytes, a GB on a box 1,000,000,000. Memory is in GiB here; GB stands beside product names only.",
    ),
)
