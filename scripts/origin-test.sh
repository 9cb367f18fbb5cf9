#!/usr/bin/env bash
# A commit with the tag of a version becomes an archive if packaging/origin says where it is published, and not before;
# what it says is then in the archive. Tried in a copy of the files that git knows.
. "$(dirname "$0")/lib.sh"
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" minlsh.control)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --ignore-failed-read -T - -c 2>/dev/null | tar -C "$copy" -x
cd "$copy"
git init -q
# origin ADDRESS SECURITY: fills in the four lines, and tags what results.
origin() {
	sed -i -E "s#^((repository|bugtracker|homepage) =).*#\1 $1#; s#^(security =).*#\1 $2#" packaging/origin
	scripts/origin.py
	git add --all
	git -c user.name=test -c user.email=test@minlsh.invalid commit -qm "Publish"
	git tag --force "v$version" >/dev/null
}
refused() { ! scripts/dist.sh >/dev/null 2>"$copy/reason" || die "a release $1"; }

origin "" ""
refused "was made that does not say where it comes from"
grep -q "packaging/origin has no repository, bugtracker, homepage, security" reason || die "refused: $(cat reason)"
origin https://minlsh.invalid/ reports@minlsh.invalid
archive=$(scripts/dist.sh)
python3 - "$archive" "minlsh-$version/" <<'END'
import json
import sys
import zipfile

archive = zipfile.ZipFile(sys.argv[1])
place = "https://minlsh.invalid/"
resources = json.loads(archive.read(sys.argv[2] + "META.json"))["resources"]
assert resources == {
    "homepage": place, "bugtracker": {"web": place}, "repository": {"url": place, "web": place, "type": "git"}
}, resources
assert b"Write to <reports@minlsh.invalid>, not" in archive.read(sys.argv[2] + "SECURITY.md")
assert f"\nHomepage: {place}\n".encode() in archive.read(sys.argv[2] + "debian/control.in")
END

# What a release lacks is listed: here the day of the version, and figures, which only the project has.
lacks() { scripts/release-check.sh || true; }
[ "$(lacks | grep -v 'figures in')" = "missing: the day of $version in CHANGELOG.md" ] || die "lacking: $(lacks)"
sed -i "s/^## $version (unreleased)/## $version (2026-01-02)/" CHANGELOG.md
lacks | grep -qx 'missing: a commit of all changes' || die "lacking: $(lacks)"
sed -i '/^Not measured/d' README.md bench/FIGURES.md $(git ls-files docs)
origin https://minlsh.invalid/ reports@minlsh.invalid
scripts/release-check.sh >/dev/null || die "lacking: $(lacks)"
git tag "v$version.1"
refused "was made whose tag is not its version"
grep -q "minlsh.control says version $version, but the tag" reason || die "refused: $(cat reason)"
