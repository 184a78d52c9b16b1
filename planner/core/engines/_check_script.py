"""check.sh: does the service run as planned? One line per step, pass or fail, and the exit status 1 where one failed.

POSIX shell with curl, systemctl, journalctl and awk, nothing else. `read` takes one byte at a time from a pipe, which is what lets
two streams be put in order as their tokens come, without a clock; awk would hold them back to fill its buffer.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.engines import _script, _systemd
from planner.core.engines.contract import Expectation

# What systemctl puts in quotes when it prints a list. Source: systemd 252, basic/escape.c, shell_maybe_quote, SHELL_NEED_QUOTES.
_QUOTED: Final = re.compile(r"""[\s"\\`$*?\['()<>|&;!]""")
_PROTECTED: Final = re.compile(r'(["\\`$])')
ANSWER_TOKENS: Final = 64
ANSWER_SECONDS: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is checked: the service's variables and options, where it answers, and what it said at start."""

    service: str
    variables: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    address: str
    health: str
    model: str
    slots: int
    expect: Expectation


def shown(text: str) -> str:
    """A word as `systemctl show` prints it in a list."""
    return '"' + _PROTECTED.sub(r"\\\1", text) + '"' if _QUOTED.search(text) else text


_FUNCTIONS: Final = r"""
failed=0
pass() { printf 'pass  %s\n' "$1"; }
fail() {
    printf 'FAIL  %s\n' "$1"
    printf '      %s\n' "$2"
    failed=1
}

# Step 1: what the service really got. An export in a shell or in .bashrc never reaches it.
has() { # property, word, word as systemctl quotes it
    property=$(systemctl show "$service" --property="$1" 2>/dev/null) || property=
    case " ${property#"$1="} " in
    *" $2 "* | *" $3 "*) ;;
    *) missing="$missing $2" ;;
    esac
}

# The key, if there is one, goes through a pipe: an argument could be read in the list of processes.
ask() { # options of curl …
    if [ -n "${API_KEY:-}" ]; then
        printf 'header = "Authorization: Bearer %s"\n' "$API_KEY" | curl --config - --silent --show-error --max-time "$seconds" "$@"
    else
        curl --silent --show-error --max-time "$seconds" "$@"
    fi
}

completion() { # body
    ask --header 'Content-Type: application/json' --no-buffer --data "$1" "http://$address/v1/chat/completions"
}

# One letter for every token that arrives.
tokens() { # letter
    completion "$streamed" 2>/dev/null | while IFS= read -r line; do
        case $line in
        *'[DONE]'*) ;;
        data:*) echo "$1" ;;
        esac
    done
}

# The first start-up line of the run that is on now with these words in it, spaces reduced to one each.
printed() { # words
    run=$(systemctl show "$service" --property=InvocationID 2>/dev/null) || run=
    journalctl --unit "$service" --no-pager --output=cat "_SYSTEMD_INVOCATION_ID=${run#InvocationID=}" 2>/dev/null |
        LINE=$1 awk '
            function squeezed(text) { gsub(/[ \t]+/, " ", text); return text }
            BEGIN { wanted = squeezed(ENVIRON["LINE"]) }
            !found && index(squeezed($0), wanted) { print substr(squeezed($0), index(squeezed($0), wanted)); found = 1 }
            END { exit !found }'
}
"""

_SAYS: Final = r"""
says() { # line
    if printed "$1" >/dev/null; then
        pass "it says: $1"
    else
        fail "it says: $1" "not among the lines of this start: journalctl --unit $service"
    fi
}
"""

_SAYS_ABOUT: Final = r"""
# The plan's figures in this line are estimates: the engine's own stand beside them.
says_about() { # words that are certain, the plan's line
    if line=$(printed "$1"); then
        pass "it says: $line"
        printf '      the plan expects about: %s\n' "$2"
    else
        fail "it says: $1" "not among the lines of this start: journalctl --unit $service"
    fi
}
"""

_STEPS: Final = r"""
if [ -z "$missing" ]; then
    pass "the service has the plan's settings"
else
    fail "the service has the plan's settings" "missing:$missing. Was the drop-in installed, and systemctl daemon-reload and restart run?"
fi

if ask --fail --output /dev/null "http://$address$health" 2>/dev/null; then
    pass "it is healthy"
else
    fail "it is healthy" "http://$address$health does not answer with success. Still loading? journalctl --unit $service"
fi

if answer=$(completion "$single" 2>&1); then
    case $answer in
    *'"choices"'*) pass "a completion comes back" ;;
    *) fail "a completion comes back" "no choices in the answer (with a key: API_KEY=… sh check.sh): $(printf '%.200s' "$answer")" ;;
    esac
else
    fail "a completion comes back" "$(printf '%.200s' "$answer")"
fi
"""

_OVERLAP: Final = r"""
order=$({
    tokens a &
    tokens b &
    wait
} | awk '
    { last[$1] = NR; count[$1]++ }
    !first[$1] { first[$1] = NR }
    END {
        if (count["a"] < 2 || count["b"] < 2) print "short"
        else if (first["a"] < last["b"] && first["b"] < last["a"]) print "together"
        else print "apart"
    }')
case $order in
together) pass "two at once are answered side by side" ;;
short) fail "two at once are answered side by side" "an answer had no tokens to compare" ;;
*) fail "two at once are answered side by side" "one began when the other had ended: the service has one slot" ;;
esac
"""

_ONE_SLOT: Final = r"""
count=$({
    tokens a &
    tokens b &
    wait
} | awk '{ seen[$1] = 1 } END { print ("a" in seen) + ("b" in seen) }')
if [ "$count" = 2 ]; then
    pass "two at once are both answered, one after the other: the plan has one slot"
else
    fail "two at once are both answered" "$count of 2 were"
fi
"""


def check_script(head: Sequence[str], checked: Checked) -> str:
    """The script's text. Raises ValueError for text that no script can hold."""
    return _script.script(
        [*head, "Checks that the service runs as planned. Run it as root, or as a member of systemd-journal."], list(_lines(checked))
    )


def _lines(checked: Checked) -> Iterator[str]:
    yield "set -u"
    for name, value in (
        ("service", checked.service),
        ("address", checked.address),
        ("health", checked.health),
        ("single", _body(checked.model, stream=False)),
        ("streamed", _body(checked.model, stream=True)),
    ):
        yield f"{name}={_script.words([value])}"
    yield f"seconds={ANSWER_SECONDS}"
    yield from _FUNCTIONS.split("\n")
    yield "missing="
    for name, found in (("Environment", [(variable,) for variable in checked.variables]), ("ExecStart", checked.options)):
        for parts in found:
            yield f"has {name} {_script.words([' '.join(parts), ' '.join(shown(part) for part in parts)])}"
    yield from _STEPS.rstrip("\n").split("\n")
    yield from (_OVERLAP if checked.slots > 1 else _ONE_SLOT).rstrip("\n").split("\n")
    for function, estimated in ((_SAYS, False), (_SAYS_ABOUT, True)):
        if any((expected.certain is not None) == estimated for expected in checked.expect.lines):
            yield from function.rstrip("\n").split("\n")
    for expected in checked.expect.lines:
        yield ""
        yield from _systemd.comment([expected.why])
        if expected.certain is None:
            yield f"says {_script.words([expected.line])}"
        else:
            yield f"says_about {_script.words([expected.certain, expected.line])}"
    yield ""
    yield 'exit "$failed"'


def _body(model: str, *, stream: bool) -> str:
    body = {
        "model": model,
        "max_tokens": ANSWER_TOKENS,
        "stream": stream,
        "messages": [{"role": "user", "content": "Count from one to one hundred in words."}],
    }
    return json.dumps(body, ensure_ascii=False)
