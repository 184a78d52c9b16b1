"""PlanRequest: everything a person chooses. The only thing that is stored and shared."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from planner.core import units
from planner.core.errors import InputError, one_line

EngineChoice = Literal["auto", "llama-server", "vllm", "ollama"]
Usage = Literal["chat", "coding", "rag", "agents"]

MAX_USERS: Final = 10_000
# What divides others must be no less than a thousandth: its reciprocals stay numbers that mean something.
MIN_SECONDS: Final = 0.001
MAX_SECONDS: Final = 30 * 86_400.0
MAX_TEXT: Final = 4_096


def _parsed(parse: Callable[[str], float], *, number: type[float] = float) -> BeforeValidator:
    """Text goes through `parse`; numbers pass on to pydantic's own checks, whole ones as such however JSON wrote them.

    `number` is int where only whole ones pass those checks, for whoever reads the schema.
    """

    def read(value: object) -> object:
        if isinstance(value, bool):
            raise InputError("true and false are no numbers: give a number.")
        if isinstance(value, str):
            return parse(value)
        if isinstance(value, int) and abs(value) > 10**30:
            raise InputError("This number is far too large.")
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return BeforeValidator(read, json_schema_input_type=number | str)


Bytes = Annotated[int, _parsed(units.parse_bytes, number=int), Field(ge=1, le=units.MAX_BYTES, strict=True)]
Tokens = Annotated[int, _parsed(units.parse_tokens, number=int), Field(ge=1, le=units.MAX_TOKENS, strict=True)]
Share = Annotated[float, _parsed(units.parse_share), Field(ge=0, le=1, allow_inf_nan=False)]
NUMBER: Final = _parsed(units.parse_number)
Count = Annotated[int, _parsed(units.parse_number, number=int)]
Seconds = Annotated[float, NUMBER, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Duration = Annotated[Seconds, Field(ge=MIN_SECONDS)]
Rate = Annotated[float, NUMBER, Field(ge=0.001, le=1e9, allow_inf_nan=False)]
# 10^9 bytes/s, of main memory: from a single channel to twelve of the fastest on two sockets.
Bandwidth = Annotated[float, NUMBER, Field(ge=1, le=20_000, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]


class PlanRequest(BaseModel):
    """The question. Defaults are the worked example that the planner opens with.

    `None` means “not given”: the plan then chooses, and says so. `config` is the text of a config.json (or its compact
    form, see `readers.compact_config`) and replaces the model's own; `model` is then only the served name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Text = "Qwen/Qwen3-8B"
    revision: Text | None = None
    config: Annotated[str, Field(max_length=2**20)] | None = None
    bytes_per_token: Annotated[Count, Field(ge=1, le=2**30)] | None = None

    device: Text | None = None
    count: Annotated[Count, Field(ge=1, le=64)] = 1
    gpu_memory: Bytes | None = None
    ram: Bytes | None = None
    ram_bandwidth: Bandwidth | None = None
    reserved_memory: Bytes | None = None

    context: Tokens = 8192
    users: Annotated[Count, Field(ge=1, le=MAX_USERS)] = 20
    usage: Usage = "chat"
    generate_seconds: Duration | None = None
    turn_seconds: Duration | None = None
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    think_seconds: Seconds | None = None
    prefill_rate: Rate | None = None
    decode_rate: Rate | None = None

    engine: EngineChoice = "auto"
    engine_version: Text | None = None
    engine_args: Text = ""
    cache_type: Text = "auto"
    cache_type_k: Text | None = None
    cache_type_v: Text | None = None
    slots: Annotated[Count, Field(ge=0, le=65_536)] = 0
    wait_target: Share = 0.05
    patience: Duration = 30.0
    pause_target: Duration = 1.0
    weights_size: Bytes | None = None
    weights_quant: Text | None = None
    tensor_parallel: Annotated[Count, Field(ge=1, le=64)] | None = None
    pipeline_parallel: Annotated[Count, Field(ge=1, le=64)] | None = None
    memory_utilization: Annotated[Share, Field(gt=0)] | None = None
    cache_memory: Bytes | None = None
    adapters: Annotated[Count, Field(ge=0, le=1024)] = 0
    switch_seconds: Seconds | None = None
    cached_share: Share = 0.0
    images: bool = False

    model_path: Text | None = None
    host: Text | None = None
    port: Annotated[Count, Field(ge=1, le=65_535)] | None = None


R = TypeVar("R", bound=PlanRequest)

FIELDS: Final = tuple(PlanRequest.model_fields)

_SENTENCES: Final = {
    "greater_than_equal": "must be at least {ge:,}",
    "greater_than": "must be greater than {gt:,}",
    "less_than_equal": "must be at most {le:,}",
    "string_too_long": "is longer than {max_length:,} characters",
    "string_type": "must be text",
    "string_unicode": "has a character that is none: type it again",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is far too large",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_parsing": "must be yes or no",
    "bool_type": "must be yes or no",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of {expected}",
    "extra_forbidden": "is not an option of Slotwise",
}


def sentence(name: str, error: Mapping[str, Any]) -> str:
    """What is wrong with the input `name`, from one of pydantic's errors."""
    context = error.get("ctx", {})
    if isinstance(context.get("error"), InputError):
        return str(context["error"])
    rule = _SENTENCES.get(error["type"])
    label = name.replace("_", " ")
    bounds = {bound: int(value) if isinstance(value, float) and value.is_integer() else value for bound, value in context.items()}
    return f"{label} {rule.format(**bounds)}." if rule else f"{label} cannot be used as it is: {error['msg']}."


class RequestError(InputError):
    """One or more inputs were refused. `errors` maps field names to their sentences; the text is the first one."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        field, message = next(iter(errors.items()))
        super().__init__(message, field=field)
        self.errors = {name: one_line(sentence) for name, sentence in errors.items()}


def read_request(values: Mapping[str, Any]) -> PlanRequest:
    """The request in a query string, form, command line or JSON object. Blank text counts as not given.

    Raises RequestError with one sentence for every field that cannot be used.
    """
    return read_as(PlanRequest, values)


def read_as(kind: type[R], values: Mapping[str, Any]) -> R:
    """As `read_request`, for a request that asks for more than a plan.

    Raises RequestError with one sentence for every field that cannot be used.
    """
    given = {str(k)[:60]: v for k, v in values.items() if v is not None and not (isinstance(v, str) and not v.strip())}
    try:
        return kind.model_validate(given)
    except ValidationError as refused:
        errors: dict[str, str] = {}
        for error in refused.errors(include_url=False, include_input=False):
            name = str(error["loc"][0]) if error["loc"] else "request"
            errors.setdefault(name, sentence(name, error))
        raise RequestError(errors) from None
