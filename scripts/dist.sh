#!/usr/bin/env bash
# make dist: build/dist/minlsh-VERSION.zip, the source as PGXN distributes it, of the last commit. With --check only
# looks whether all files that name the version, or the place where minlsh is published, name the same.
. "$(dirname "$0")/lib.sh"
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" minlsh.control)

# says FILE VERSION: every file that names the version must name this one.
says() { [ "$2" = "$version" ] || die "minlsh.control says version $version, but $1 says '$2'"; }
says Cargo.toml "$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)"
says debian/changelog "$(sed -n '1s/^minlsh (\(.*\)-[^-]*) .*/\1/p' debian/changelog)"
says CHANGELOG.md "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
python3 - META.json <<'END' | while read -r place found; do says "META.json ($place)" "$found"; done
import json
import sys
meta = json.load(open(sys.argv[1]))
print("version", meta["version"])
print("provides", meta["provides"]["minlsh"]["version"])
END
# What carries a tag of a version is a release, which says where it comes from.
tags=$(git tag --points-at HEAD --list 'v[0-9]*')
for tag in $tags; do says "the tag $tag" "${tag#v}"; done
scripts/origin.py "$([ -z "$tags" ] && echo --check || echo --release)"
[ "${1:-}" != --check ] || exit 0
git diff --quiet HEAD || say "what is not committed is not in it"
mkdir -p build/dist
git archive --format=zip --prefix="minlsh-$version/" --output="build/dist/minlsh-$version.zip" HEAD
echo "build/dist/minlsh-$version.zip"
