#!/bin/sh
# Installs what the browser tests need, where that is possible without asking; elsewhere the tests are skipped and say so.
set -eu
if command -v chromium >/dev/null 2>&1 || [ -n "${CHROMIUM:-}" ] || [ -n "${SLOTWISE_NO_BROWSER:-}" ]; then
    exit 0
fi
hint="Browser tests will be skipped. To run them: apt-get install --no-install-recommends chromium fonts-dejavu-core"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "$hint"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null || echo "$hint"
