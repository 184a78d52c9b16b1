"""The YAML file of `vllm serve --config`: the plan's options as keys, for whoever keeps options out of the command line.

Source: vLLM 0.32 utils/argparse_utils.py, FlexibleArgumentParser.load_config_file: keys are long flag names; `true` stands for the bare
flag, `false` is dropped without a word, so an option is switched off by its negative name; anything else is passed on as text.
"""

from collections.abc import Iterator, Sequence

from planner.core.engines import _yaml
from planner.core.engines._arguments import reason, words
from planner.core.engines._place import Place
from planner.core.engines._yaml import Noted, Scalar, Value
from planner.core.engines.contract import File, Setting


def config_file(place: Place, settings: Sequence[Setting], *, head: Sequence[str], path: str) -> File:
    """The file. Raises ValueError for text that YAML cannot hold."""
    how = [
        f"Instead of the flags: vllm serve --config {path}. A flag on the command line wins over this file.",
        "To switch something off, write no-NAME: true. vLLM drops NAME: false without a word.",
    ]
    content: dict[str, Value] = {"model": place.model, **dict(_entries(settings))}
    return File(path, _yaml.document([*head, *how], content), "The options as a file for --config, instead of flags. Optional.")


def _entries(settings: Sequence[Setting]) -> Iterator[tuple[str, Value]]:
    for setting in settings:
        if setting.flag is not None:
            _, *values = words(setting)
            value: Value = [_scalar(each) for each in values] if len(values) > 1 else _scalar(values[0]) if values else True
            yield setting.flag.lstrip("-"), Noted(value, reason(setting))


def _scalar(value: str) -> Scalar:
    """A number where vLLM reads back the very same text, else text."""
    for number in (int, float):
        try:
            if str(number(value)) == value:
                return number(value)
        except ValueError:
            continue
    return value
