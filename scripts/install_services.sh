#!/bin/sh
# The servers that the tests need a second time round: Debian's PostgreSQL, and its Valkey or (before Debian 13) Redis.
set -eu
postgresql() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }
cache_server() { command -v valkey-server || command -v redis-server; }
if postgresql >/dev/null 2>&1 && cache_server >/dev/null 2>&1; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "No PostgreSQL with Valkey or Redis, and no apt-get to install them: install them to run the tests on PostgreSQL too." >&2
    exit 1
fi
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo -n"
if ! $as_root true 2>/dev/null; then
    echo "No PostgreSQL with Valkey or Redis: run  sudo apt-get install postgresql redis-server  to run the tests on PostgreSQL too." >&2
    exit 1
fi
$as_root apt-get update -qq
if apt-cache show valkey-server >/dev/null 2>&1; then cache=valkey-server; else cache=redis-server; fi
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql "$cache" >/dev/null
postgresql >/dev/null && cache_server >/dev/null
