"""Writes a tiny random checkpoint: config.json, safetensors and a tokenizer of single bytes.

A script of its own, for the environment that has vLLM and its libraries: `python write_checkpoint.py FOLDER < config.json`.
"""

import json
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

SEED = 20
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<end>", *alphabet])}
    fast = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=fast, eos_token="<end>", chat_template=CHAT)  # noqa: S106 - a token of text


def main() -> None:
    folder, values = sys.argv[1], json.load(sys.stdin)
    torch.manual_seed(SEED)
    config = AutoConfig.for_model(**values)
    model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)


if __name__ == "__main__":
    main()
