"""A finding's fix as a ready file: one setting in the engine's own syntax, with its reason above it."""

from typing import Final

from planner.core.engines import _arguments, _systemd, _yaml
from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import File, Setting
from planner.core.errors import InputError
from planner.core.logs.record import Facts

# After the names that other drop-ins have, so that its values win.
_DROP_IN: Final = "/etc/systemd/system/{engine}.service.d/90-diagnosis-{option}.conf"
_HEAD: Final = (
    "Written from the diagnosis of a log. One setting at a time: only then the next log shows what it did.",
    "Then: systemctl daemon-reload && systemctl restart {engine}",
    "A flag in the unit's ExecStart wins over a variable here: take such a flag out of it.",
)


def fix_files(facts: Facts, name: str, value: str | int, why: str) -> tuple[File, ...]:
    """The file that sets one option, by the name that the log's own version has for it. None where the version has no such option."""
    setting = fix_setting(facts, name, value, why)
    if setting is None:
        return ()
    if facts.engine == "vllm":
        head = [
            "Written from the diagnosis of a log: vllm serve --config with this file",
            "A flag on the command line wins over this file.",
        ]
        content = {(setting.flag or "").lstrip("-"): _yaml.Noted(_whole(setting.value), setting.why)}
        return (File(f"vllm-{(setting.flag or name).lstrip('-')}.yaml", _yaml.document(head, content), why),)
    if setting.env is None:
        return ()
    head = [line.format(engine=facts.engine) for line in _HEAD]
    text = _systemd.unit(head, [_systemd.Section("Service", _arguments.environment([setting]))])
    return (File(_DROP_IN.format(engine=facts.engine, option=name.lstrip("-").lower().replace("_", "-")), text, why),)


def fix_setting(facts: Facts, name: str, value: str | int, why: str) -> Setting | None:
    """The option as the log's version spells it; the newest version where the log does not say."""
    table = flag_tables().get(facts.engine)
    if table is None:
        return None
    try:
        version = table.version_in(str(facts.values.get("version") or table.newest))
        flags = table.at(version)
    except InputError:
        flags = table.at(table.newest)
    try:
        return next(flags.setting(name, value, why=why), None)
    except InputError:
        return None


def _whole(value: str | None) -> str | int | bool:
    if value is None:
        return True
    return int(value) if value.isdigit() else value
