#!/usr/bin/env bash
# make release-check: lists what a release of this version lacks, and fails if anything is missing.
. "$(dirname "$0")/lib.sh"
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" minlsh.control)
lacking=0
lacks() { printf 'missing: %s\n' "$*" && lacking=1; }

reason=$(scripts/dist.sh --check 2>&1) || lacks "one version in all files: $reason"
reason=$(scripts/origin.py --release 2>&1) || lacks "an origin: $reason"
grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)" CHANGELOG.md || lacks "the day of $version in CHANGELOG.md"
for page in $(git grep -lE '^Not measured' -- README.md docs bench/FIGURES.md); do lacks "figures in $page"; done
[ -z "$(git status --porcelain)" ] || lacks "a commit of all changes"
git tag --points-at HEAD | grep -qx "v$version" || lacks "the tag v$version on this commit"
[ $lacking = 0 ] || exit 1
echo "nothing is missing: push the tag v$version"
