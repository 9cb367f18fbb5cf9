#!/usr/bin/env bash
# make rpm: builds an RPM of the last commit in build/rpm, for the PostgreSQL of PG_CONFIG. On a system whose packages
# are not RPMs it builds all the same, with what this system has, and nothing checks the names of what it depends on.
. "$(dirname "$0")/lib.sh"
command -v rpmbuild >/dev/null || die "rpmbuild is missing: dnf install rpm-build, apt-get install rpm"
archive=$(scripts/dist.sh)
flags=()
rpm --query --whatprovides /bin/sh >/dev/null 2>&1 || flags+=(--nodeps)
rm -rf build/rpm
mkdir -p build/rpm
rpmbuild -ba packaging/rpm/minlsh.spec "${flags[@]}" --define "_topdir $root/build/rpm" \
	--define "_sourcedir $root/$(dirname "$archive")" --define "pgmajor $(pg_major)" \
	--define "pg_config $pg_config" >build/rpm/log 2>&1 ||
	{ tail -n 40 build/rpm/log >&2 && die "rpmbuild, see build/rpm/log"; }
for package in build/rpm/RPMS/*/*.rpm build/rpm/SRPMS/*.rpm; do
	echo "$package"
	rpm --query --package --list "$package" | grep -v /doc/
done
