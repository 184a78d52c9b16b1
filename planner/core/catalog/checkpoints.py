"""Open-weight models by exact Hub id or alias, each with the config.json keys that decide its memory and speed."""

import datetime as dt
import difflib
import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_NAME: Final = 120

Name = Annotated[str, Field(min_length=1, max_length=300)]
HubId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$", max_length=96)]
Parameters = Annotated[int, Field(ge=10**8, le=10**13)]


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """One checkpoint.

    `config` is the config.json mapping as `readers.hf_config.read_shape` takes it (not to be changed).
    `parameters` are those stored in the checkpoint; `active_parameters` those used per token, None for a dense
    model and where they are not known; `active_is_stated` tells its maker's figure from one derived from the config.
    `weight_bytes` maps a format (`safetensors`, or a GGUF type such as `Q4_K_M`) to the exact size, where one is known.
    """

    id: str
    title: str
    config: Mapping[str, Any] = field(hash=False)
    parameters: int
    source: str
    checked: str
    active_parameters: int | None = None
    active_is_stated: bool = False
    weight_bytes: Mapping[str, int] = field(default_factory=dict, hash=False)
    license: str = ""
    released: dt.date | None = None
    aliases: tuple[str, ...] = ()

    @property
    def short_name(self) -> str:
        """The id without its owner, lower-case: `qwen3-8b`. It is an alias of every model."""
        return self.id.partition("/")[2].lower()


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Active(_Entry):
    """Active parameters, from one of the two origins."""

    stated: Parameters | None = None
    derived: Parameters | None = None

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if self.stated is not None and self.derived is not None:
            raise ValueError("give either stated or derived")
        return self


class ModelEntry(_Entry):
    """One `[[model]]` table of models.toml."""

    id: HubId
    title: Name
    parameters: Parameters
    source: Name
    active: Active = Active()
    weights: Mapping[str, Annotated[int, Field(ge=10**8, le=10**13)]] = Field(default_factory=dict)
    license: str = ""
    released: dt.date | None = None
    aliases: tuple[Name, ...] = ()
    like: HubId | None = None
    config: Mapping[str, Any] = Field(default_factory=dict)


class ModelsFile(_Entry):
    """models.toml as a whole. Raises pydantic's ValidationError with the path of what is wrong."""

    version: Name
    checked: Name
    model: tuple[ModelEntry, ...]

    def models(self) -> Mapping[str, CatalogModel]:
        """Every model by id. Raises ValueError for an id given twice and for a `like` without a model above it."""
        found: dict[str, CatalogModel] = {}
        for entry in self.model:
            if entry.id in found or (entry.like is not None and entry.like not in found):
                raise ValueError(f"models.toml: {entry.id} is given twice, or is like a model that does not stand above it")
            shared = found[entry.like].config if entry.like else {}
            found[entry.id] = CatalogModel(
                id=entry.id,
                title=entry.title,
                config={**shared, **expanded(entry.config)},
                parameters=entry.parameters,
                source=entry.source,
                checked=self.checked,
                active_parameters=entry.active.stated or entry.active.derived,
                active_is_stated=entry.active.stated is not None,
                weight_bytes=MappingProxyType(dict(entry.weights)),
                license=entry.license,
                released=entry.released,
                aliases=entry.aliases,
            )
        return MappingProxyType(found)


def expanded(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config.json mapping behind its short form: `null` keys and repeating lists written out, nested tables too."""
    result: dict[str, Any] = dict.fromkeys(config.get("null", ()))
    for key, value in config.items():
        if isinstance(value, Mapping):
            result[key] = _repeated(**value) if "cycle" in value else expanded(value)
        elif key != "null":
            result[key] = value
    return result


def _repeated(*, cycle: list[Any], length: int, first: list[Any] | None = None, last: list[Any] | None = None) -> list[Any]:
    head, tail = first or [], last or []
    return [*head, *itertools.islice(itertools.cycle(cycle), length - len(head) - len(tail)), *tail]


_FILE: Final = ModelsFile.model_validate(tomllib.loads(files("planner.core.catalog").joinpath("models.toml").read_text(encoding="utf-8")))
VERSION: Final = _FILE.version


@cache
def models() -> Mapping[str, CatalogModel]:
    """Every model of the catalogue by its Hub id."""
    return _FILE.models()


def model(name: str) -> CatalogModel | None:
    """The model of exactly this Hub id, short name (`qwen3-8b`) or alias, in any case; None if there is none."""
    return None if len(name) > MAX_NAME else _by_name().get(name.strip().lower())


def close_models(name: str) -> tuple[str, ...]:
    """At most three Hub ids of the catalogue that are spelled much like `name`, the closest first."""
    close = difflib.get_close_matches(name.strip().lower()[:MAX_NAME], _by_name(), n=6, cutoff=0.75)
    return tuple(dict.fromkeys(_by_name()[each].id for each in close))[:3]


@cache
def _by_name() -> Mapping[str, CatalogModel]:
    index: dict[str, CatalogModel] = {}
    for each in models().values():
        for name in {each.id.lower(), each.short_name, *(alias.lower() for alias in each.aliases)}:
            if index.setdefault(name, each) is not each:
                raise ValueError(f"models.toml: “{name}” names both {index[name].id} and {each.id}")
    return index
