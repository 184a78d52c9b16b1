"""Settings that never reach the service: exports, the wrong section, quotes, a shell that is not there; and keys that all can see."""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from planner.core.engines import _systemd
from planner.core.engines._pasted import Given, split
from planner.core.engines._unit import UNIT_FOLDER
from planner.core.review.case import Case, Complaint, cite, each_unit_line, shown, variable_line

_UNIT_FORMS: Final = frozenset({"unit", "drop_in"})
# What belongs to [Service] and is ignored elsewhere. Source: systemd 252, systemd.service(5), systemd.exec(5).
_OF_SERVICE: Final = frozenset({
    "Environment", "EnvironmentFile", "ExecStart", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecReload", "User", "Group", "Restart",
    "RestartSec", "Type", "WorkingDirectory", "LimitMEMLOCK", "LimitNOFILE", "TimeoutStartSec", "StandardOutput", "StandardError",
})  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What only a shell understands.
_SHELL: Final = re.compile(r"(?:^|\s)(?:&&|\|\||[|;&<>]|[12]?>>?)(?:\s|$)|\$\(|`|(?:^|[\s=])~/|^\.{1,2}/|^[A-Za-z_][A-Za-z0-9_]*=|^cd\s")
_KEYS: Final = frozenset({"--api-key", "--hf-token", "-hft", "LLAMA_API_KEY", "VLLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY"})  # fmt: skip


def _drop_in(case: Case, lines: str) -> str:
    return f"# {UNIT_FOLDER}/{case.plan.engine.name}.service.d/override.conf\n[Service]\n{lines}"


def shell_export(case: Case) -> Iterator[Complaint]:
    if case.pasted.form != "exports":
        return
    name = case.plan.engine.name
    lines = "\n".join(_line(case, given) for given in case.pasted.given)
    yield Complaint(
        "shell_export",
        (),
        "; ".join(cite(given) for given in case.pasted.given[:3]) + ".",
        f"A service starts without your shell: an export, or a line of .bashrc or .profile, never reaches it. "
        f"`systemctl show {name} --property=Environment` shows what it really has. Put it into a drop-in: sudo systemctl edit {name}, "
        f"then sudo systemctl restart {name}.",
        _drop_in(case, lines),
    )


def _line(case: Case, given: Given) -> str:
    setting = case.setting(case.name(given))
    if setting is not None:
        return case.written(setting)
    try:
        return variable_line(case.pasted, given.spelling, given.value or "")
    except ValueError:
        return f"# {shown(given.shown)}"


def wrong_section(case: Case) -> Iterator[Complaint]:
    if case.pasted.form not in _UNIT_FORMS:
        return
    for entry in case.pasted.entries:
        if entry.key in _OF_SERVICE and entry.section != "Service":
            where = f"in [{entry.section}]" if entry.section else "above every section"
            yield Complaint(
                "wrong_section",
                (),
                f"line {entry.line}: {shown(f'{entry.key}={entry.value}')} {where}.",
                "systemd reads this only in [Service]; elsewhere it ignores the line and says so in the journal.",
                f"[Service]\n{entry.key}={shown(entry.value)}",
            )


def misspelt_directive(case: Case) -> Iterator[Complaint]:
    known = {key.lower(): key for key in _OF_SERVICE}
    for entry in case.pasted.entries if case.pasted.form in _UNIT_FORMS else ():
        if entry.section != "Service" or entry.key in _OF_SERVICE:
            continue
        close = difflib.get_close_matches(entry.key.lower(), known, n=1, cutoff=0.85)
        if (
            close
            and _NAME.fullmatch(entry.key)
            and entry.key.lower()[:4] == close[0][:4]
            and known[close[0]] in {"Environment", "ExecStart"}
        ):
            yield Complaint(
                "misspelt_directive",
                (),
                f"line {entry.line}: {shown(f'{entry.key}={entry.value}')}.",
                "systemd does not know this name and ignores the line; names are case-sensitive.",
                f"{known[close[0]]}={shown(entry.value)}",
            )


def unquoted_environment(case: Case) -> Iterator[Complaint]:
    for line, _, value in each_unit_line(case, "Environment"):
        parts = split(value)
        broken = [part for part in parts if "=" not in part or not _NAME.fullmatch(part.split("=", 1)[0])]
        if not broken:
            continue
        whole = " ".join(part for part in parts if part != "export")
        name, equals, rest = whole.partition("=")
        fixed = (
            f"Environment={_systemd.variable(name, rest)}"
            if equals and _NAME.fullmatch(name) and rest.isprintable()
            else "Environment=NAME=value"
        )
        reason = (
            "systemd knows no `export`: the word is ignored."
            if broken == ["export"]
            else f"systemd splits the line at spaces, so “{shown(broken[0])}” is taken for a variable of its own and dropped. Quote the whole assignment."
        )
        yield Complaint("unquoted_environment", (), f"line {line}: Environment={shown(value)}.", reason, fixed)


def empty_variable(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        if given.is_variable and given.value == "" and case.pasted.form != "command":
            setting = case.setting(case.name(given))
            yield case.complain(
                "empty_variable",
                given,
                reason="The variable is set to nothing, which hides the value it should have; the start-up line of the engine shows it empty.",
                replacement=case.written(setting)
                if setting
                else variable_line(case.pasted, given.spelling, "VALUE")
                if _NAME.fullmatch(given.spelling)
                else "",
            )


def second_command(case: Case) -> Iterator[Complaint]:
    """A drop-in adds to the unit's own ExecStart unless it takes that away first."""
    commands = list(each_unit_line(case, "ExecStart"))
    if (
        case.pasted.form == "drop_in"
        and commands
        and commands[0][2] != ""
        and not any(e.key in {"Type", "User"} for e in case.pasted.entries)
    ):
        line, _, value = commands[0]
        yield Complaint(
            "second_command",
            (),
            f"line {line}: ExecStart={shown(value)}.",
            "A drop-in adds a second command to that of the unit, and systemd refuses to start a service with two. An empty line takes the first away.",
            f"[Service]\nExecStart=\nExecStart={shown(value)}",
        )


def shell_in_command(case: Case) -> Iterator[Complaint]:
    for line, _, value in each_unit_line(case, "ExecStart"):
        match = _SHELL.search(value.strip())
        if match and not re.search(r"\bsh\s+-\w*c\b", value):
            program = case.pasted.program[0].rsplit("/", 1)[-1] if case.pasted.program else case.plan.engine.name
            yield Complaint(
                "shell_in_command",
                (),
                f"line {line}: ExecStart={shown(value)} (“{shown(match[0].strip())}”).",
                "systemd starts programs without a shell: no pipes, no &&, no ~, no variables before the program; the path must be absolute.",
                f"ExecStart=/usr/local/bin/{program} …, and every variable in an Environment= line of its own",
            )


def key_in_sight(case: Case) -> Iterator[Complaint]:
    for given in case.pasted.given:
        if case.name(given) in _KEYS and case.pasted.form not in {"variables", "exports"} and given.value:
            where = (
                "a command line, where every user of the machine can read it" if not given.is_variable else "a file that everyone may read"
            )
            name = case.plan.engine.name
            variable = {"--api-key": f"{'LLAMA' if name == 'llama-server' else 'VLLM'}_API_KEY"}.get(case.name(given), given.spelling)
            hidden = Given(given.spelling, "…", given.where, given.line)
            yield case.complain(
                "key_in_sight",
                hidden,
                reason=f"The key stands in {where}.",
                replacement=f"EnvironmentFile=-/etc/{name}/secrets.env, with {variable.lstrip('-')}=… in that file, mode 0600",
            )


RULES: Final = (
    shell_export, wrong_section, misspelt_directive, unquoted_environment, empty_variable, second_command, shell_in_command, key_in_sight,
)  # fmt: skip
