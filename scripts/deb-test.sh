#!/usr/bin/env bash
# make deb-test: in a bare Debian, installs the package that `make deb` has built, by the commands of docs/install.md,
# which must answer within a minute; takes the tour of README.md there; and purges the package, which leaves nothing.
. "$(dirname "$0")/lib.sh"
skip() { echo "Debian package: SKIPPED: $1" >&2; exit 0; }
packages=(build/deb/postgresql-*-minlsh_*.deb)
[ -e "${packages[0]}" ] || die "no package: make deb"
for package in "${packages[@]}"; do
	! dpkg --field "$package" Depends | grep -E 'postgresql-[0-9]+ \([^)]*[0-9]+\.[0-9]' ||
		die "$package demands a minor version of PostgreSQL, see debian/minor_versions"
done
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
trap remove_bare_debian EXIT
# Its PostgreSQL is without security updates, and so older than the one that the package was built with, often.
make_bare_debian "$release" || skip "no bare Debian"
# The newest PostgreSQL that this release has itself is the one that it can install.
major=
for package in "${packages[@]}"; do
	version=$(basename "$package" | cut -d- -f2)
	chroot "$bare" apt-cache show "postgresql-$version" >/dev/null 2>&1 && major=$version && cp "$package" "$bare/srv/"
done
[ -n "$major" ] || skip "Debian $release has none of the PostgreSQL versions packaged"

# The commands, and what the last one prints: the first blocks of that page.
block() { awk -v kind="$1" '/^```/ { inside = $0 == "```" kind && !seen++; next } inside' docs/install.md; }
block sh | sed "s/postgresql-15/postgresql-$major/" >"$bare/srv/commands"
block text >"$bare/srv/expected"
cp scripts/deb-test-inside.sh "$bare/srv/test"
[ "$(wc -l <"$bare/srv/commands")" -le 3 ] || die "docs/install.md: more than three commands"

say "in it: $(cat "$bare/srv/commands")"
in_bare_debian "$bare" bash test "$major"
