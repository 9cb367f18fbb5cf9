#!/usr/bin/env bash
# make deb: builds Debian packages of the last commit in build/deb, one for each PostgreSQL of debian/pgversions
# whose server headers this system's packages brought, with the source package, and has lintian look at them.
here=$(dirname "$0")
"$here/install-dependencies.sh" --package || exit
. "$here/lib.sh"
archive=$(scripts/dist.sh)
version=$(basename "$archive" .zip)
version=${version#minlsh-}
for major in 15 16 17 18 19; do
	[ -e "/usr/lib/postgresql/$major/bin/pg_config" ] ||
		echo "PostgreSQL $major: SKIPPED: this system has no postgresql-server-dev-$major (apt.postgresql.org has)" >&2
done

say "the source package"
rm -rf build/deb
mkdir -p build/deb
output=$root/build/deb
cd "$output"
source=$output/minlsh-$version
unzip -q "$root/$archive"
# Upstream's tarball is without Debian's folder, and that of the crates is beside it.
tar --exclude="minlsh-$version/debian" -czf "minlsh_$version.orig.tar.gz" "minlsh-$version"
cd "$source"
scripts/vendor.py . 2>&1 | tail -n 1 >&2
tar -czf "../minlsh_$version.orig-vendor.tar.gz" vendor
PG_SUPPORTED_VERSIONS=installed pg_buildext updatecontrol

say "building the packages"
# Debian's Rust need not be there: the one that builds elsewhere builds here. debhelper changes HOME, so rustup's
# proxies, which look there for what they stand for, cannot be used.
PATH=$(rustc --print sysroot)/bin:$PATH
PG_SUPPORTED_VERSIONS=installed dpkg-buildpackage --no-sign --build-profiles=pkg.minlsh.toolchain >"$output/log" 2>&1 ||
	{ tail -n 60 "$output/log" >&2 && die "dpkg-buildpackage, see $output/log"; }

say "lintian"
lintian --allow-root --fail-on error,warning --display-info --pedantic --show-overrides "$output"/*.changes
cd "$output"
rm -rf "$source"
ls -l -- *.deb
