"""A pasted `docker run` line, Compose file or `--config` file, read as leniently as people write them."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.core.engines import _yaml
from planner.core.engines._pasted import (
    Given,
    Pasted,
    assignments,
    engine_of,
    engine_of_settings,
    positional,
    program_end,
    program_options,
    split,
)
from planner.core.engines._tables import flag_tables
from planner.core.errors import InputError

COMPOSE_LINE: Final = re.compile(r"^[ \t]*(?:services|environment|image|command)[ \t]*:", re.MULTILINE)
KEY_LINE: Final = re.compile(r"\s*(?:#.*|[A-Za-z][\w.-]*\s*:(?:\s.*)?|\s+\S.*|-\s.*)?", re.ASCII)
_CONTAINER_TOOL: Final = re.compile(r"(?:docker|podman|nerdctl)")
# Options of `docker run` that take no value.
_BARE: Final = frozenset({"-d", "-i", "-t", "-it", "-ti", "-dit", "-id", "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--read-only"})  # fmt: skip


def container_start(words: Sequence[str]) -> int | None:
    """Where `docker run` stands."""
    starts = (i for i, word in enumerate(words[:4]) if _CONTAINER_TOOL.fullmatch(word) and words[i + 1 : i + 2] == ["run"])
    return next(starts, None)


def read_docker(words: Sequence[str]) -> Pasted:
    at = _image(words)
    found = engine_of(words[at:])
    if found is None:
        return Pasted("docker", "", ())
    engine = found[0]
    own, inside = words[2:at], list(words[at + 1 :])
    program = program_end(engine, ["", *inside], 0) - 1
    given = [*_docker_variables(own), *program_options(engine, inside[program:], "the command line", 1)]
    model = positional(engine, inside[program:])
    return Pasted("docker", engine, tuple(given), program=(*inside[:program], *model), container=tuple(own), image=words[at])


def _image(words: Sequence[str]) -> int:
    """Where the image stands: the first word behind `docker run` that is no option and no option's value."""
    at = 2
    while at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at] in _BARE else 2
    return at


def _docker_variables(words: Sequence[str]) -> Iterator[Given]:
    for name, value in docker_options(words):
        if name in {"-e", "--env"} and value:
            yield from assignments([value], "--env", 1)


def docker_options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """(option, value) of a `docker run` line before its image."""
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if equals:
            yield name, value
        elif name in _BARE or not rest or rest[0].startswith("-"):
            yield name, None
        else:
            yield name, rest.pop(0)


def read_compose(text: str) -> Pasted:
    for service in _services(_document(text)):
        image, command = str(service.get("image", "")), service.get("command", [])
        words = [str(word) for word in command] if isinstance(command, list) else split(str(command))
        entry = service.get("entrypoint", [])
        start = [str(word) for word in entry] if isinstance(entry, list) else split(str(entry))
        given = list(_compose_variables(service.get("environment", {})))
        found = engine_of([image, *start, *words])
        engine = found[0] if found else engine_of_settings(given)
        if engine:
            inside = [*start[1:], *words] if start[:1] and engine_of(start[:1]) else words
            inside = inside[1:] if inside and engine_of(inside[:1]) else inside
            inside = inside[1:] if inside[:1] == ["serve"] else inside
            given += list(program_options(engine, inside, "command:", 0))
            return Pasted("compose", engine, tuple(given), program=positional(engine, inside), image=image or None, fields=service)
    return Pasted("compose", "", ())


def _document(text: str) -> Mapping[str, Any]:
    try:
        content = _yaml.read(text)
    except (ValueError, OverflowError) as problem:
        raise InputError(f"The text looks like YAML and cannot be read as that: {str(problem)[:120]}.", field="text") from None
    return content if isinstance(content, Mapping) else {}


def _services(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The services of a whole file, or the one that its lines alone describe."""
    services = content.get("services", content)
    whole = "environment" in services or "image" in services if isinstance(services, Mapping) else True
    candidates = [services] if whole else list(services.values())
    yield from (service for service in candidates if isinstance(service, Mapping))


def _compose_variables(environment: Any) -> Iterator[Given]:
    if isinstance(environment, Mapping):
        yield from (Given(str(name), _text(value), "environment:") for name, value in environment.items())
    elif isinstance(environment, list):
        yield from assignments([str(word).replace("$$", "$") for word in environment], "environment:", 0)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return shlex.join(_text(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value).replace("$$", "$")


def read_config(text: str) -> Pasted:
    """A file for `vllm serve --config`. `false` is kept as the value: vLLM drops it."""
    given: list[Given] = []
    program: tuple[str, ...] = ()
    for name, value in _document(text).items():
        key = str(name).replace("_", "-")
        if key == "model":
            program = (str(value),)
        else:
            given.append(Given(f"--{key}", None if value is True else _text(value), "the config file"))
    known = flag_tables()["vllm"]
    is_ours = any(
        each.spelling in flag.spellings or each.spelling.replace("--no-", "--") in flag.spellings for each in given for flag in known.flags
    )
    return Pasted("config", "vllm" if is_ours else "", tuple(given), program=program)
