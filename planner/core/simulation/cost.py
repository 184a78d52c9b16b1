"""What a pass costs: seconds from the tokens in it, by the roofline of one machine and one model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PassCost:
    """The five rates of the pass model, all in seconds.

    `step_s` one pass over the weights for a single sequence, `sequence_s` what each further sequence of a decode step adds,
    `token_s` one token where arithmetic is the limit (1 / prefill rate), `cached_token_s` reading one cached token of a sequence
    that generates, `attention_s` one prompt token attending to one token before it.
    """

    step_s: float
    token_s: float
    sequence_s: float = 0.0
    cached_token_s: float = 0.0
    attention_s: float = 0.0

    def slower(self, *, prefill: float, decode: float) -> "PassCost":
        """The same with both rates divided by these factors; below 1 it is faster."""
        return PassCost(
            step_s=self.step_s * decode,
            token_s=self.token_s * prefill,
            sequence_s=self.sequence_s * decode,
            cached_token_s=self.cached_token_s * decode,
            attention_s=self.attention_s * prefill,
        )

    def step_seconds(self, sequences: int) -> float:
        """A decode step of `sequences` sequences without their caches: reading the weights, or the arithmetic where that is slower."""
        return max(self.step_s + self.sequence_s * (sequences - 1), self.token_s * sequences)

    def pass_seconds(
        self, *, sequences: int, cached_tokens: int, prompt_tokens: int, attended: float, micro_batch_tokens: int | None = None
    ) -> float:
        """A pass with one token of each of `sequences` generating sequences and `prompt_tokens` prompt tokens.

            max(reading the weights, tokens × token_s) + cached_tokens × cached_token_s + attended × attention_s

        `attended` sums, over the prompt tokens, the tokens before each. The weights are read once for every micro-batch
        (llama.cpp: n_ubatch). Source of the shape: llama.cpp b11434 tools/server/server-context.cpp, update_slots (decode
        tokens and prompt tokens share a batch); the roofline as in planner/core/speed.py.
        """
        tokens = sequences + prompt_tokens
        readings = -(-tokens // micro_batch_tokens) if micro_batch_tokens else 1
        reading = self.step_s * readings + self.sequence_s * max(0, sequences - 1)
        return max(reading, self.token_s * tokens) + cached_tokens * self.cached_token_s + attended * self.attention_s


def attended_pairs(before: int, tokens: int) -> float:
    """Pairs of a token and one before it when `tokens` tokens follow `before` others: tokens × before + tokens² / 2."""
    return tokens * (before + tokens / 2)
