"""How llama-server divides its context over the slots, and which command lines say so."""

import pytest

from planner.core.engines.llama_server import ENGINE
from planner.core.engines.llama_server.arguments import parse
from planner.core.engines.llama_server.versions import BUILDS, rules_of
from planner.core.errors import InputError
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.readers.hf_config import read_shape
from tests.core.llama_models import GPT_OSS_20B, QWEN3_8B, gguf, heads, job, latent, some

GEMMA_2B = gguf("gemma", 18, 2048, 8, 1, context_length=8192, vocab_size=256_000, **heads(256))

# (model, command line, n_ctx, n_ctx_slot, slots, unified), printed by llama.cpp b11434.
DIVIDED = [
    (QWEN3_8B, "-c 8192 -fit off", (8192, 8192, 4, True)),
    (QWEN3_8B, "-c 8192 -np -1 -no-kvu -fit off", (8192, 8192, 4, True)),
    (QWEN3_8B, "-c 8192 -np 4 -fit off", (8192, 2048, 4, False)),
    (QWEN3_8B, "-c 4000 -np 3 -fit off", (4608, 1536, 3, False)),
    (QWEN3_8B, "-c 4000 -np 3 -kvu -fit off", (4096, 4096, 3, True)),
    (QWEN3_8B, "-c 1000 -np 8 -fit off", (2048, 256, 8, False)),
    (QWEN3_8B, "-c 4096 --kv-unified-per-slot 2048 -np 4 -kvu -fit off", (4096, 2048, 4, True)),
    (QWEN3_8B, "--kv-unified-per-slot 2048 -np 4 -fit off", (8192, 2048, 4, False)),
    (QWEN3_8B, "-c 49152 -np 1 -fit off", (49152, 40960, 1, False)),
    (GEMMA_2B, "-c 0 -np 4 -fit off", (8192, 2048, 4, False)),
    (GEMMA_2B, "-c 0 -np 4 -fit on", (32768, 8192, 4, False)),
    (GEMMA_2B, "-c 20000 -np 2 -fit off", (20480, 8192, 2, False)),
]


@pytest.mark.parametrize(("model", "args", "printed"), DIVIDED)
def test_the_context_is_divided_as_the_server_prints(model: dict[str, object], args: str, printed: tuple[int, int, int, bool]) -> None:
    values = ENGINE.expect(job(model, args), 1).values
    assert (values["n_ctx"], values["n_ctx_slot"], values["n_slots"], values["kv_unified"]) == printed


def test_a_plan_without_a_command_line_gives_every_slot_its_whole_context() -> None:
    values = ENGINE.expect(job(QWEN3_8B), 4).values
    assert (values["n_ctx"], values["n_ctx_slot"], values["n_slots"], values["kv_unified"]) == (32768, 8192, 4, False)


def test_a_command_line_that_leaves_the_context_alone_changes_only_the_rest() -> None:
    values = ENGINE.expect(job(QWEN3_8B, "-ctk q8_0 --metrics"), 4).values
    assert (values["n_ctx"], values["n_slots"]) == (32768, 4)
    assert values["kv"][0]["k_bytes"] * 32 == values["kv"][0]["v_bytes"] * 17


def test_a_micro_batch_is_a_multiple_of_the_slots_where_the_server_would_not_start_otherwise() -> None:
    # b11434 on Kimi Linear: starts with 1, 2 and 8 slots and 512 tokens, ends with 3, 5, 6 and 7; starts with 3 and 510.
    kimi = latent("kimi-linear", 27, 2304, 32, some(27, {3, 7, 11, 15, 19, 23, 26}, 1), ssm__conv_kernel=4, kda__head_dim=128)

    def ubatch(args: str, slots: int, model: dict[str, object] = kimi) -> int:
        return ENGINE.settings(job(model, args), slots).n_ubatch

    assert [ubatch("", slots) for slots in (1, 2, 3, 5, 6, 7, 8)] == [512, 512, 510, 510, 510, 511, 512]
    assert ubatch("-c 6144 -np 3 -kvu", 3) == 512
    assert ubatch("-ub 300", 3) == 300
    assert ubatch("", 3, QWEN3_8B) == 512


def test_a_model_without_a_context_length_needs_one_on_the_command_line() -> None:
    model = {key: value for key, value in QWEN3_8B.items() if "context" not in key}
    ENGINE.check(job(model, "-c 4096 -np 1"))
    with pytest.raises(InputError, match="states no context length"):
        ENGINE.check(job(model, "-np 2"))


SPELLINGS = [
    ("-c 4096", "n_ctx", 4096),
    ("--ctx-size 4096", "n_ctx", 4096),
    ("--ctx-size=4096", "n_ctx", 4096),
    ("--ctx_size 4096", "n_ctx", 4096),
    ("-c 1 -c 4096", "n_ctx", 4096),
    ("-np auto-not -np 2", None, None),
    ("-np -1", "n_parallel", -1),
    ("-np -7", "n_parallel", -1),
    ("-kvu", "kv_unified", True),
    ("-kvu --no-kv-unified", "kv_unified", False),
    ("-fa", "flash_attn", "on"),
    ("-fa --metrics", "flash_attn", "on"),
    ("-fa 0", "flash_attn", "off"),
    ("--flash-attn auto", "flash_attn", "auto"),
    ("-nkvo", "kv_offload", False),
    ("-ngl all", "n_gpu_layers", -2),
    ("-ngl 99", "n_gpu_layers", 99),
    ("-ts 3,1", "tensor_split", (3.0, 1.0)),
    ("-fitt 512,2048", "fit_target_mib", (512, 2048)),
    ("--spec-type draft-mtp,ngram-mod", "spec_type", ("draft-mtp", "ngram-mod")),
    ("llama-server -m -weird- --unknown 7 -cram 0", "cache_ram_mib", 0),
]


@pytest.mark.parametrize(("line", "field", "value"), SPELLINGS)
def test_every_spelling_of_a_flag_is_read(line: str, field: str | None, value: object) -> None:
    if field is None:
        with pytest.raises(InputError):
            parse(tuple(line.split()))
    else:
        assert getattr(parse(tuple(line.split())), field) == value


VARIABLES = [
    ("LLAMA_ARG_CTX_SIZE=4096", "n_ctx", 4096),
    ("LLAMA_ARG_CTX_SIZE=4096 llama-server -c 8192", "n_ctx", 8192),
    ('Environment="LLAMA_ARG_N_PARALLEL=2"', "n_parallel", 2),
    ("LLAMA_ARG_KV_UNIFIED=1 LLAMA_ARG_NO_KV_UNIFIED=0", "kv_unified", False),
    ("LLAMA_ARG_FLASH_ATTN=on", "flash_attn", "on"),
    ("LLAMA_ARG_CACHE_TYPE_K=q8_0", "type_k", "q8_0"),
    ("LLAMA_ARG_TYPO=3 LLAMA_API_KEY=secret", "n_ctx", None),
]


@pytest.mark.parametrize(("line", "field", "value"), VARIABLES)
def test_variables_count_and_flags_win_over_them(line: str, field: str, value: object) -> None:
    assert getattr(parse(tuple(line.split())), field) == value


@pytest.mark.parametrize("line", ["LLAMA_ARG_KV_UNIFIED=maybe", "LLAMA_ARG_N_PARALLEL=auto", "LLAMA_ARG_CTX_SIZE=8k"])
def test_a_variable_the_server_cannot_read_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="LLAMA_ARG_"):
        parse((line,))


def test_a_recurrent_model_has_the_context_its_converter_writes() -> None:
    model = gguf("mamba2", 4, 1024, 0, 0, ssm__conv_kernel=4, ssm__inner_size=2048, ssm__state_size=128, ssm__group_count=1)
    stateless = {key: value for key, value in model.items() if "context" not in key}
    assert ENGINE.expect(job(stateless, "-c 0 -np 1"), 1).values["n_ctx"] == 2**20


def test_cohere_s_window_is_taken_as_the_file_has_it_from_either_file() -> None:
    config = {
        "model_type": "cohere2", "architectures": ["Cohere2ForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096, "vocab_size": 256_000,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 4096, "sliding_window_pattern": 4,
        "intermediate_size": 14_336, "max_position_embeddings": 132_096,
    }  # fmt: skip
    model = gguf("cohere2", 32, 4096, 32, 8, attention__sliding_window=4096, **heads(128))
    for shape in (read_shape(config), read_gguf_shape(model)):
        kept = ENGINE.expect(job(shape, "-c 16384 -np 1"), 1).values["kv"]
        assert [(entry["cells"], entry["layers"]) for entry in kept] == [(16_384, 8), (4608, 24)]


def test_a_command_line_without_end_is_refused() -> None:
    with pytest.raises(InputError, match="more than 1,000 words"):
        parse(("-c", "1") * 600)


@pytest.mark.parametrize("version", [*BUILDS, "b9100", "b11433", "11434", "auto", ""])
def test_builds_between_the_first_and_the_newest_are_known(version: str) -> None:
    assert 9093 <= rules_of(version).build <= 11434


@pytest.mark.parametrize("version", ["b9092", "b11435", "latest", "b", "v0.33.0", "b9999999999", "b٣٤٥٦٧", "-b9093"])
def test_other_builds_are_refused_in_words(version: str) -> None:
    with pytest.raises(InputError, match="not known here") as refused:
        rules_of(version)
    assert refused.value.field == "engine_version"


def test_the_start_up_lines_are_spelled_as_the_server_prints_them() -> None:
    lines = [line.line for line in ENGINE.expect(job(QWEN3_8B, "-c 8192 -np 4 -fit off"), 1).lines]
    assert "initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'" in lines
    assert "llama_kv_cache: size = 1152.00 MiB (  2048 cells,  36 layers,  4/4 seqs), K (f16):  576.00 MiB, V (f16):  576.00 MiB" in lines
    windowed = [line.line for line in ENGINE.expect(job(GPT_OSS_20B, "-c 16384 -fit off"), 1).lines]
    assert (
        "llama_kv_cache: size =   24.00 MiB (  1024 cells,  12 layers,  4/1 seqs), K (f16):   12.00 MiB, V (f16):   12.00 MiB" in windowed
    )
