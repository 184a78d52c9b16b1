"""Which Ollama releases are known here, and the llama.cpp build that each of them bundles."""

from typing import Final

from planner.core.engines._flags import version_key
from planner.core.errors import InputError

# Releases from which a build is bundled, until the next one here. Source: LLAMA_CPP_VERSION in Ollama's repository at each tag; the last
# is the state of v0.33.0-rc2 (fb30760). Earlier releases ran models with another program and other memory rules.
BUNDLED: Final = {
    "0.30.0": "b9452", "0.30.1": "b9479", "0.30.4": "b9493", "0.30.5": "b9509", "0.30.9": "b9626", "0.30.10": "b9672", "0.30.11": "b9781",
    "0.31.0": "b9840", "0.31.2": "b9888", "0.32.2": "b10069", "0.32.3": "b10091", "0.32.6": "b10242", "0.32.8": "b10353",
    "0.32.10": "b10380", "0.32.14": "b10434", "0.32.15": "b10488",
}  # fmt: skip
# Those between which the memory rules of the bundled build changed, and the newest. The variables, their defaults, the context by GPU memory
# and the families served one at a time are the same in all of them (envconfig/config.go, server/routes.go, server/sched.go).
VERSIONS: Final = ("0.30.0", "0.30.10", "0.31.2", "0.33.0")


def bundled_build(version: str) -> str:
    """The llama.cpp build in an Ollama release; “auto” is the newest. Raises InputError for a release that is not known here."""
    text = version.strip()[:40]
    key = version_key(VERSIONS[-1] if text in {"", "auto"} else text)
    if not version_key(VERSIONS[0]) <= key <= version_key(VERSIONS[-1]):
        raise InputError(
            f"Ollama “{text}” is not known here: the sources that were read are those from {VERSIONS[0]} to {VERSIONS[-1]}.",
            field="engine_version",
        )
    return next(build for since, build in reversed(BUNDLED.items()) if version_key(since) <= key)
