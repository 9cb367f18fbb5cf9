#!/usr/bin/env bash
# make deb-test: in a bare Debian, installs the package that `make deb` has built, by the commands of docs/install.md,
# which must answer within a minute; takes the tour of README.md there; and purges the package, which leaves nothing.
. "$(dirname "$0")/lib.sh"
skip() { echo "Debian package: SKIPPED: $1" >&2; exit 0; }
[ "$(id -u)" = 0 ] || skip "a bare Debian is made by root"
for tool in debootstrap unshare; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done
command -v apt-get >/dev/null || skip "this is not Debian"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(debian_mirror)
[ -n "$mirror" ] || skip "this is not Debian with a mirror"
packages=(build/deb/postgresql-*-minlsh_*.deb)
[ -e "${packages[0]}" ] || die "no package: make deb"

mkdir -p build/run
bare=$(mktemp -d "$root/build/run/bare.XXXXXX")
chmod 755 "$bare"
# Its processes are gone with their namespace by then.
trap 'rm -rf --one-file-system "$bare"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
say "a bare Debian $release"
debootstrap --variant=minbase "$release" "$bare" "$mirror" >"$bare.log" ||
	{ tail -n 5 "$bare.log" >&2 && rm "$bare.log" && skip "debootstrap failed"; }
rm "$bare.log"
mirror_settings >"$bare/etc/apt/apt.conf.d/99mirror"
# Security updates included, of which the package was built with the newest.
apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' |
	sed -n 's/^Packages Debian //p' | sort -u >"$bare/etc/apt/sources.list"
chroot "$bare" apt-get update -qq
# Without an init system Debian starts no service, unless it is told that it may.
printf '#!/bin/sh\nexit 0\n' >"$bare/usr/sbin/policy-rc.d"
chmod 755 "$bare/usr/sbin/policy-rc.d"
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
unshare --mount --pid --ipc --uts --fork --kill-child --root="$bare" --wd=/srv --mount-proc \
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
	bash test "$major"
