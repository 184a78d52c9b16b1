"""Options that the version does not have, values it does not take, and options that fight each other."""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from planner.core.engines._flags import Flag
from planner.core.engines._pasted import Given
from planner.core.review.case import Case, Complaint, meaning, shown, variable_line

_PREFIXES: Final = {"llama-server": "LLAMA_ARG_", "vllm": "VLLM_", "ollama": "OLLAMA_"}
# Names that people write for one that exists. Each was seen in public configurations of these engines.
_MEANT: Final = {
    "OLLAMA_NUM_CTX": "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_CTX_SIZE": "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_CONTEXT_SIZE": "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_MAX_PARALLEL": "OLLAMA_NUM_PARALLEL",
    "OLLAMA_PARALLEL": "OLLAMA_NUM_PARALLEL",
    "OLLAMA_MODELS_PATH": "OLLAMA_MODELS",
    "LLAMA_ARG_API_KEY": "--api-key",
    "LLAMA_ARG_PARALLEL": "--parallel",
    "LLAMA_ARG_NP": "--parallel",
    "LLAMA_ARG_CONTEXT_SIZE": "--ctx-size",
    "LLAMA_ARG_CTX": "--ctx-size",
    "LLAMA_ARG_METRICS": "--metrics",
    "LLAMA_ARG_NGL": "--gpu-layers",
}
_WHOLE: Final = re.compile(r"-?\d+")
_SWITCH_WORDS: Final = frozenset({"on", "off"})
_OLD_NO: Final = "LLAMA_ARG_NO_"


def removed_option(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        gone = case.flags.removed(given.spelling)
        if gone is None:
            continue
        version = f"{case.engine} {case.flags.version}"
        happens = "has no effect there" if given.is_variable else "is refused there, and the service does not start"
        yield case.complain(
            "removed_option",
            given,
            reason=f"{version} does not know {shown(given.spelling)}: it {happens}. {gone.meaning}".strip(),
            replacement=_instead(case, given, gone),
        )


def _instead(case: Case, given: Given, gone: Flag) -> str:
    """What does the job now: the plan's own setting, else what replaced the option."""
    if not gone.replaced_by:
        return "leave it out: nothing is needed in its place" if gone.replaced_by == "" else f"leave {shown(given.spelling)} out"
    name, _, value = gone.replaced_by.partition(" ")
    return (case.write(name) if case.setting(name) else case.write(name, value or given.value)) or gone.replaced_by


def unknown_name(case: Case) -> Iterator[Complaint]:
    """A name that no version has and that is close to one that exists; others may be real ones that decide no memory."""
    unknown = [given for given in case.pasted.given if not case.flag(given) and not case.flags.removed(given.spelling)]
    names = _names(case) if unknown else ()
    for given in unknown:
        meant = _meant(case, given, names)
        if meant is None:
            continue
        happens = "is ignored without a word" if given.is_variable else "is refused, and the service does not start"
        yield case.complain(
            "unknown_name",
            given,
            reason=f"{case.engine} has no {shown(given.spelling)}: it {happens}. {meant.name} is the one that exists: {meant.meaning}",
            replacement=_rewritten(case, given, meant),
        )


def _names(case: Case) -> tuple[str, ...]:
    """Every long flag under each of its names, and every variable, that the version knows."""
    known = [flag for flag in case.flags.table.flags if flag.known_to(case.flags.version)]
    variables = [setting.env for flag in known for setting in case.flags.setting(flag.name, None, why="") if setting.env]
    return (*(name for flag in known for name in (flag.name, *flag.aliases) if name.startswith("--")), *variables)


def _meant(case: Case, given: Given, names: tuple[str, ...]) -> Flag | None:
    if given.spelling in _MEANT:
        return case.flags.find(_MEANT[given.spelling])
    prefix = _PREFIXES[case.plan.engine.name] if given.is_variable else "--"
    if not given.spelling.startswith(prefix) or given.spelling.startswith(_OLD_NO):
        return None
    word = given.spelling.removeprefix(prefix)
    flag = case.flags.find("--" + word.lower().replace("_", "-")) if given.is_variable else None
    alike = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    close = difflib.get_close_matches(word, alike, n=1, cutoff=0.8 if given.is_variable else 0.86) if flag is None else []
    return flag or (case.flags.find(prefix + close[0]) if close else None)


def _rewritten(case: Case, given: Given, meant: Flag) -> str:
    if meant.name == "--api-key":
        return f"LLAMA_API_KEY=… in /etc/{case.plan.engine.name}/secrets.env, mode 0600"
    return case.write(meant.name) if case.setting(meant.name) else case.write(meant.name, given.value)


def refused_value(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        flag = case.flag(given)
        if flag is None or given.value in {None, ""}:
            continue
        allowed = flag.values(case.flags.version)
        value = (given.value or "").strip()
        wrong = (allowed and value not in allowed and not _is_word_for(flag, given, allowed)) or (
            flag.type == "integer" and not allowed and not _WHOLE.fullmatch(value) and not _has_suffix(case, value)
        )
        if wrong:
            wanted = f"one of {', '.join(allowed)}" if allowed else "a whole number"
            yield case.complain(
                "refused_value",
                given,
                reason=f"{case.engine} {case.flags.version} takes {wanted} here and refuses to start with anything else.",
                replacement=_valid(case, flag),
            )


def _is_word_for(flag: Flag, given: Given, allowed: tuple[str, ...]) -> bool:
    """`1` and `true` in a variable are as good as `on`."""
    return (set(allowed) >= _SWITCH_WORDS and given.is_variable and meaning(flag, given.spelling, given.value) in {"on", "off"}) or (
        set(allowed) >= _SWITCH_WORDS and (given.value or "").lower() in {"1", "0", "true", "false", "enabled", "disabled", "-1"}
    )


def _has_suffix(case: Case, value: str) -> bool:
    return case.plan.engine.name == "vllm" and bool(re.fullmatch(r"\d+(?:\.\d+)?[kKmMgG]|auto", value))


def _valid(case: Case, flag: Flag) -> str:
    default = flag.default(case.flags.version)
    return case.write(flag.name) or (f"leave it out: the default is {default}" if default else f"leave {flag.name} out")


def set_twice(case: Case) -> Iterator[Complaint]:
    """The same option as a variable and as a flag, with different values: the flag wins, and the variable misleads."""
    for name in dict.fromkeys(case.name(given) for given in case.pasted.given):
        given = [each for each in case.pasted.given if case.name(each) == name]
        flags, variables = [g for g in given if not g.is_variable], [g for g in given if g.is_variable]
        if flags and variables and case.meaning(flags[-1]) != case.meaning(variables[-1]):
            yield case.complain(
                "set_twice",
                variables[-1],
                flags[-1],
                reason="Both set the same option, and the command line wins: the variable has no effect.",
                replacement=case.write(name) if case.setting(name) else flags[-1].shown,
            )


def off_by_no(case: Case) -> Iterator[Complaint]:
    """llama-server: LLAMA_ARG_NO_X switches X off as soon as it is set, even to 0."""
    for given in case.pasted.given:
        if given.spelling.startswith(_OLD_NO) and case.flags.find(given.spelling.replace("_NO_", "_", 1)):
            flag = case.flags.find(given.spelling.replace("_NO_", "_", 1))
            if flag and given.value in {"0", "false", "off", ""}:
                yield case.complain(
                    "off_by_no",
                    given,
                    reason=f"llama-server takes a variable with NO in its name as “off” whatever its value: {flag.name} is off here, not on.",
                    replacement=_on(case, flag, given.spelling.replace("_NO_", "_", 1)),
                )


def _on(case: Case, flag: Flag, name: str) -> str:
    return case.write(flag.name) if case.setting(flag.name) else variable_line(case.pasted, name, "1")


RULES: Final = (removed_option, unknown_name, refused_value, set_twice, off_by_no)
