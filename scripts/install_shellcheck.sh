#!/bin/sh
# Installs what checks the generated shell scripts, where that is possible without asking; elsewhere that test is skipped and says so.
set -eu
if command -v shellcheck >/dev/null 2>&1; then
    exit 0
fi
hint="The generated scripts will not be linted. To have that: apt-get install shellcheck"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "$hint"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -qq -y --no-install-recommends shellcheck; } >/dev/null || echo "$hint"
