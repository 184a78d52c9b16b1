#!/bin/sh
# The servers that the tests need: Debian's PostgreSQL, its Valkey or (before Debian 13) Redis, and nginx.
set -eu
postgresql() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }
cache_server() { command -v valkey-server || command -v redis-server; }
proxy() { command -v nginx || ls /usr/sbin/nginx; }
if postgresql >/dev/null 2>&1 && cache_server >/dev/null 2>&1 && proxy >/dev/null 2>&1; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "PostgreSQL, Valkey or Redis, or nginx is missing, and no apt-get to install it: the tests run on SQLite alone." >&2
    exit 1
fi
# Servers are not put on somebody's own machine unasked: as root (a container), or where CI may.
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo -n"
if [ "$(id -u)" -ne 0 ] && { [ -z "${CI:-}" ] || ! sudo -n true 2>/dev/null; }; then
    echo "The tests run on SQLite alone. For PostgreSQL too:  sudo apt-get install postgresql redis-server nginx" >&2
    exit 1
fi
$as_root apt-get update -qq
if apt-cache show valkey-server >/dev/null 2>&1; then cache=valkey-server; else cache=redis-server; fi
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql "$cache" nginx openssl >/dev/null
postgresql >/dev/null && cache_server >/dev/null
