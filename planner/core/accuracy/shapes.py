"""Models of records: shapes written down layer by layer, and GGUF metadata under short names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.model_shape import FeedForward, Layer, ModelShape

_VOCABULARY: Final = 128_256
_KEYS: Final = frozenset({"model_type", "attention_heads", "vocab_size", "encoder_tokens"})


def dense(layers: int, heads: int, dim: int) -> ModelShape:
    """Plain attention: `heads` key-value heads of `dim` in every layer."""
    return _shape((Layer("full", (TokenStore("full", heads, dim, dim),)),) * layers, (), {"attention_heads": heads * 8})


def shape(record: Mapping[str, Any]) -> ModelShape:
    """The model of a record: `stores` by name, `layers` as [how many, "name+name"] or {repeat, layers}, `draft_layers` likewise.

    Sizes that do not enter the cache are the same for all.
    """
    stores = {name: _store(fields) for name, fields in record["stores"].items()}
    return _shape(tuple(_layers(record["layers"], stores)), tuple(_layers(record.get("draft_layers", ()), stores)), record)


def _store(fields: Mapping[str, Any]) -> Store:
    return TokenStore(**fields) if "key_dim" in fields else StateStore(**fields)


def _layers(entries: Sequence[Any], stores: Mapping[str, Store]) -> Iterator[Layer]:
    for entry in entries:
        if isinstance(entry, Mapping):
            yield from list(_layers(entry["layers"], stores)) * entry["repeat"]
        else:
            count, names = entry
            kept = tuple(stores[name] for name in names.split("+") if name)
            yield from (Layer(kept[0].kind if kept else "shared", kept),) * count


def _shape(layers: tuple[Layer, ...], drafts: tuple[Layer, ...], record: Mapping[str, Any]) -> ModelShape:
    facts = {"model_type": "llama", "vocab_size": _VOCABULARY, **{key: value for key, value in record.items() if key in _KEYS}}
    return ModelShape(
        architecture="X",
        layers=layers,
        draft_layers=drafts,
        hidden_size=4096,
        max_context=1_048_576,
        dtype="bfloat16",
        feed_forward=FeedForward(14_336),
        **facts,
    )


def gguf(arch: str, layers: int, hidden: int, heads: int, kv: int | list[int], **more: object) -> dict[str, object]:
    """Metadata of an architecture; in `more`, a double underscore is a dot (`attention__key_length`)."""
    facts: dict[str, object] = {
        "block_count": layers, "embedding_length": hidden, "attention.head_count": heads, "attention.head_count_kv": kv,
        "context_length": 131_072, "vocab_size": 32_000, "feed_forward_length": 4 * hidden,
    }  # fmt: skip
    facts.update({key.replace("__", "."): value for key, value in more.items()})
    return {"general.architecture": arch, **{f"{arch}.{key}": value for key, value in facts.items()}}


def metadata(model: Mapping[str, Any]) -> dict[str, object]:
    """The GGUF keys behind a record's short ones."""
    layers = model["layers"] + model.get("drafts", 0)
    more: dict[str, object] = {
        "feed_forward_length": model.get("ff", 0), "vocab_size": model["vocab"], "context_length": 2**20,
        "attention.shared_kv_layers": model.get("shared", 0), "nextn_predict_layers": model.get("drafts", 0),
        **_heads(model), **_windows(model, layers), **_state(model),
    }  # fmt: skip
    if "experts" in model:
        more |= dict(zip(("expert_count", "expert_used_count", "expert_feed_forward_length"), model["experts"], strict=True))
    return gguf(model["arch"], layers, model["hidden"], model["heads"], _key_value_heads(model, layers), **more)


def _heads(model: Mapping[str, Any]) -> dict[str, object]:
    key, value = model.get("key", model.get("head")), model.get("value", model.get("head"))
    if "latent" in model:
        return {
            "attention.key_length": model["latent"], "attention.value_length": 512,
            "attention.key_length_mla": 192, "attention.value_length_mla": 128,
        }  # fmt: skip
    return {"attention.key_length": key, "attention.value_length": value} if key else {}


def _windows(model: Mapping[str, Any], layers: int) -> dict[str, object]:
    keys: dict[str, object] = {}
    if "window" in model:
        keys["attention.sliding_window"] = model["window"]
    if "pattern" in model:
        keys["attention.sliding_window_pattern"] = [(layer + 1) % model["pattern"] != 0 for layer in range(layers)]
    if "head_swa" in model:
        keys |= {"attention.key_length_swa": model["head_swa"], "attention.value_length_swa": model["head_swa"]}
    return keys


def _state(model: Mapping[str, Any]) -> dict[str, object]:
    if "delta" in model:
        groups, rank, size = model["delta"]
        inner = rank * size
    elif "mamba" in model:
        inner, groups, size, rank = model["mamba"]
    else:
        return {}
    return {"ssm.conv_kernel": 4, "ssm.inner_size": inner, "ssm.state_size": size, "ssm.time_step_rank": rank, "ssm.group_count": groups}


def _key_value_heads(model: Mapping[str, Any], layers: int) -> int | list[int]:
    kv = model["kv"]
    if isinstance(kv, list):
        return [kv[0] if (layer + 1) % model["pattern"] else kv[1] for layer in range(layers)]
    if "attending" in model:
        return [kv if layer < model["attending"] else 0 for layer in range(layers)]
    return int(kv)
