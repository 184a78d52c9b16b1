"""Settings as the words of a command line and as the variables of an environment."""

from collections.abc import Iterable

from planner.core.engines import _systemd
from planner.core.engines.contract import Setting


def words(setting: Setting) -> tuple[str, ...]:
    """The setting on a command line: its flag, and its values where it takes some; nothing for a variable without a flag."""
    if setting.flag is None:
        return ()
    return (setting.flag,) if setting.value is None else (setting.flag, setting.value, *setting.more)


def variable_value(setting: Setting) -> str:
    """The value of the setting's variable; a bare switch is on, or off by its negative name."""
    if setting.value is not None:
        return setting.value
    return "off" if setting.flag and setting.flag.startswith("--no-") else "on"


def variables(settings: Iterable[Setting]) -> dict[str, str]:
    return {setting.env: variable_value(setting) for setting in settings if setting.env}


def reason(setting: Setting) -> str:
    """The setting's comment: why it has this value, what breaks, and the engine's default where it differs."""
    default = f" Default: {setting.default}." if setting.default and setting.default != setting.value else ""
    return " ".join(part for part in (setting.why, setting.breaks) if part) + default


def arguments(settings: Iterable[Setting]) -> tuple[_systemd.Argument, ...]:
    """The settings that have a flag, as the arguments of a unit's command line, each with its reason."""
    return tuple(_systemd.Argument(words(setting), reason(setting)) for setting in settings if setting.flag)


def environment(settings: Iterable[Setting]) -> tuple[_systemd.Entry, ...]:
    """The settings that have a variable, as `Environment=` lines, each below its reason."""
    return tuple(
        _systemd.Entry("Environment", _systemd.variable(setting.env, variable_value(setting)), reason(setting))
        for setting in settings
        if setting.env
    )
