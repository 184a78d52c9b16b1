"""review(): every option of a pasted configuration beside the plan's, and the whole of it as it would work."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from planner.core.engines import _systemd
from planner.core.engines._arguments import arguments, reason, variable_value, words
from planner.core.engines._pasted import Given, split
from planner.core.engines._read_pasted import read_pasted
from planner.core.engines._shell import command
from planner.core.engines._systemd import Command, Entry, Section
from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import HandOver, Setting
from planner.core.errors import InputError
from planner.core.plan import Plan
from planner.core.review.case import Case, Complaint, cite, shown
from planner.core.review.rules import rules

Kind = Literal["wrong", "changed", "added", "kept"]

_ORDER: Final[tuple[Kind, ...]] = ("wrong", "changed", "added", "kept")
# Options about places, and the input of a plan that says the same.
_PLACES: Final = {
    "--model": "model_path", "--hf-repo": "model_path", "--alias": "", "--served-model-name": "", "--host": "host", "--port": "port",
    "OLLAMA_HOST": "host", "OLLAMA_MODELS": "", "HF_HOME": "",
}  # fmt: skip
# In a container the server must listen on every address of its own.
_LISTEN: Final = frozenset({"--host", "OLLAMA_HOST"})


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a review. `theirs` is as it was pasted, `ours` as the plan has it; `replacement` what works, where something was wrong."""

    kind: Kind
    name: str
    theirs: str
    ours: str
    reason: str
    code: str = ""
    evidence: str = ""
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """`form` is what was pasted, `replacement` the whole of it with the plan's settings and what was kept."""

    engine: str
    version: str
    form: str
    items: tuple[Item, ...]
    replacement: str

    def of(self, kind: Kind) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.kind == kind)


def engine_in(text: str) -> str:
    """The engine that a pasted text is for. Raises InputError (field "text") where it names none."""
    return read_pasted(text).engine


def review(text: str, plan: Plan, hand_over: HandOver) -> Review:
    """The text beside the plan. Raises InputError for text that cannot be read, or that is for another engine than the plan."""
    pasted = read_pasted(text)
    if pasted.engine != plan.engine.name:
        raise InputError(f"The text is for {pasted.engine} and the plan for {plan.engine.name}: plan for {pasted.engine}.", field="engine")
    flags = flag_tables()[plan.engine.name].at(plan.engine.version)
    known = {given.spelling: flags.find(given.spelling) for given in pasted.given}
    case = _with_their_places(Case(pasted, plan, hand_over.settings, flags, hand_over.expect.values, known))
    complaints = [complaint for rule in rules() for complaint in rule(case)]
    items = (*_wrong(case, complaints), *_compared(case, complaints))
    return Review(
        engine=plan.engine.name,
        version=plan.engine.version,
        form=pasted.form,
        items=tuple(sorted(items, key=lambda item: _ORDER.index(item.kind))),
        replacement=_whole(case, hand_over, complaints),
    )


def _with_their_places(case: Case) -> Case:
    """Where the model lies, what it is called and where the server listens is theirs to say, unless the plan was asked for it."""
    request = case.plan.request
    asked = {"model_path": request.model_path, "host": request.host, "port": request.port}
    theirs = {name: given for name, field in _PLACES.items() if (given := case.option(name)) and not asked.get(field) and given.value}
    source = {"--model", "--hf-repo"} if {"--model", "--hf-repo"} & set(theirs) else set()
    wanted = []
    for setting in case.wanted:
        name = case.name_of(setting)
        if name in theirs:
            first, *more = _parts(case, theirs[name])
            wanted.append(replace(setting, value=first, more=tuple(more), why="As you have it."))
        elif name not in source:
            wanted.append(setting)
    return replace(case, wanted=tuple(wanted))


def _parts(case: Case, given: Given) -> list[str]:
    """The words of an option's value: several where the option takes several."""
    flag = case.flag(given)
    return (split(given.value or "") if flag and flag.type == "words" else []) or [given.value or ""]


def _wrong(case: Case, complaints: list[Complaint]) -> Iterator[Item]:
    for complaint in complaints:
        ours = [setting for name in complaint.names if (setting := case.setting(name))]
        yield Item(
            "wrong",
            ", ".join(complaint.names) or complaint.code.replace("_", " "),
            complaint.evidence,
            "; ".join(case.written(setting) for setting in ours),
            complaint.reason,
            complaint.code,
            complaint.evidence,
            complaint.replacement,
        )


def _compared(case: Case, complaints: list[Complaint]) -> Iterator[Item]:
    """Options that nothing is wrong with, each once."""
    claimed = {name for complaint in complaints for name in complaint.names}
    names = dict.fromkeys(case.name(given) for given in case.pasted.given)
    for name in names:
        given = case.option(name)
        if name not in claimed and given is not None:
            yield _beside(case, name, given)
    for setting in case.wanted:
        name = case.name_of(setting)
        if name not in names and name not in claimed:
            yield Item("added", name, "", case.written(setting), reason(setting))
    for entry in case.pasted.entries:
        if entry.section == "Service" and entry.key not in {"Environment", "ExecStart"}:
            yield Item("kept", entry.key, shown(f"{entry.key}={entry.value}"), "", "A line of your unit that the plan does not touch.")


def _beside(case: Case, name: str, given: Given) -> Item:
    setting, theirs = case.setting(name), cite(given)
    flag = case.flag(given)
    if setting is None:
        known = f"{flag.meaning} The plan leaves it as you have it." if flag and flag.meaning else "The plan says nothing about it."
        return Item("kept", name, theirs, "", known)
    if _same(case.meaning(given), case.planned(setting)) or _listens_inside(case, name):
        return Item("kept", name, theirs, case.written(setting), setting.why)
    return Item("changed", name, theirs, case.written(setting), reason(setting))


def _listens_inside(case: Case, name: str) -> bool:
    return name in _LISTEN and case.pasted.form in {"compose", "docker"}


def _same(theirs: str, ours: str) -> bool:
    """Equal as text or as numbers: 0.90 is 0.9."""
    if theirs == ours:
        return True
    try:
        return float(theirs) == float(ours)
    except ValueError:
        return False


def _settings(case: Case, complaints: list[Complaint]) -> tuple[Setting, ...]:
    """The plan's settings, and the pasted options that it has none for and nothing is wrong with."""
    claimed = {name for complaint in complaints for name in complaint.names}
    kept = []
    for name in dict.fromkeys(case.name(given) for given in case.pasted.given):
        given = case.option(name)
        if given is not None and name not in claimed and case.setting(name) is None and _writable(given):
            own = list(_known(case, given))
            kept += own or [
                Setting(
                    None if given.is_variable else given.spelling, given.value, "Yours.", env=given.spelling if given.is_variable else None
                )
            ]
    return (*case.wanted, *kept, *(setting for complaint in complaints for setting in complaint.adds))


def _known(case: Case, given: Given) -> Iterator[Setting]:
    flag = case.flag(given)
    if flag is None:
        return
    off = case.meaning(given) == "off" and flag.type == "switch"
    name = flag.negative if off and flag.negative else flag.name
    first, *more = _parts(case, given)
    value = None if flag.type == "switch" or given.value is None else first
    try:
        yield from case.flags.setting(name, value, more=tuple(more), why="Yours.", source="engine_args")
    except InputError:
        return


def _writable(given: Given) -> bool:
    try:
        _systemd.printable(given.value or "")
        if given.is_variable:
            _systemd.variable(given.spelling, given.value or "")
    except ValueError:
        return False
    return True


def _whole(case: Case, hand_over: HandOver, complaints: list[Complaint]) -> str:
    try:
        return _replacement(case, hand_over, complaints)
    except ValueError as problem:
        raise InputError(f"The text has a word that no file can hold: {problem}.", field="text") from None


def _replacement(case: Case, hand_over: HandOver, complaints: list[Complaint]) -> str:
    pasted, settings = case.pasted, _settings(case, complaints)
    if pasted.form in {"compose", "docker"} or pasted.container:
        return next((file.content for file in hand_over.files if file.path.endswith("compose.yaml")), hand_over.command)
    if pasted.form == "config":
        return next((file.content for file in hand_over.files if file.path.endswith("config.yaml")), hand_over.command)
    if pasted.form == "command":
        return _command_line(case, settings)
    return _systemd.unit(
        [f"Beside the unit of {case.engine}: /etc/systemd/system/{case.plan.engine.name}.service.d/override.conf"],
        (Section("Service", tuple(_drop_in(case, settings, hand_over))),),
    )


def _command_line(case: Case, settings: tuple[Setting, ...]) -> str:
    plain = {setting.env: variable_value(setting) for setting in settings if setting.flag is None and setting.env}
    return command([*case.pasted.program, *(word for setting in settings for word in words(setting))], plain)


def _drop_in(case: Case, settings: tuple[Setting, ...], hand_over: HandOver) -> Iterator[Entry | Command]:
    """Variables where the engine has them; a new command line where the old one carried options, or where the engine has nothing else."""
    by_variable = [setting for setting in settings if setting.env and (setting.flag is None or case.plan.engine.name != "vllm")]
    by_flag = tuple(setting for setting in settings if setting not in by_variable)
    for setting in by_variable:
        yield Entry("Environment", _systemd.variable(setting.env or "", variable_value(setting)), reason(setting))
    program = case.pasted.program or (read_pasted(hand_over.command).program if by_flag and case.plan.engine.name == "vllm" else ())
    if program and (by_flag or any(not given.is_variable for given in case.pasted.given)):
        yield Entry("ExecStart", "", "An empty line first takes the unit's own command away.")
        yield Command("ExecStart", _absolute(program), arguments(by_flag))


def _absolute(program: tuple[str, ...]) -> tuple[str, ...]:
    """The program by an absolute path: systemd has no shell and no home folder to find it in."""
    first, *rest = program
    path = first if first.startswith("/") else f"/usr/local/bin/{first.rsplit('/', 1)[-1]}"
    return (path, *rest)
