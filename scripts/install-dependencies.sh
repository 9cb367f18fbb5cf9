#!/usr/bin/env bash
# Installs what building and testing need from Debian's packages, if it is missing and we are
# root; else says what is missing.
set -euo pipefail
packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need make make
need gcc gcc
[ -e /usr/include/stdlib.h ] || packages+=(libc6-dev)
command -v pg_config >/dev/null && major=$(pg_config --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/') || major=15
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages+=("postgresql-$major")
"$(dirname "$0")/pg-config.sh" | grep -q ^/usr/lib/postgresql/ || packages+=("postgresql-server-dev-$major")
ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 || packages+=(libclang-dev)
[ ${#packages[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "missing packages; as root: apt-get install --no-install-recommends ${packages[*]}" >&2
	exit 1
fi
echo "installing ${packages[*]}" >&2
# The package's own cluster is not wanted: our servers are private.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2
