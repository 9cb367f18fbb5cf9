#!/usr/bin/env bash
# What scripts/deb-test.sh runs as root in the bare system, with the package, the commands and what they shall print.
set -euo pipefail
major=$1
package=postgresql-$major-minlsh
documentation=/usr/share/doc/$package
as_postgres() { runuser -u postgres -- "$@"; }
fail() { echo "error: $*" >&2; exit 1; }

TIMEFORMAT='%R %U %S'
read -r load _ </proc/loadavg
status=0
{ time bash -e commands >log 2>&1 </dev/null; } 2>./times || status=$?
[ "$status" = 0 ] || { cat log >&2 && fail "docs/install.md"; }
read -r elapsed user system < <(tail -n 1 times)
grep . log | tail -n "$(wc -l <expected)" | diff -B expected - || fail "the first answer is another one"
# On a machine that is busy with other work, it is the time on a processor that can be compared.
limited=$(awk -v load="$load" -v cores="$(nproc)" -v elapsed="$elapsed" -v cpu="$user $system" \
	'BEGIN { split(cpu, part, " "); print load < cores ? elapsed : part[1] + part[2] }')
echo "PostgreSQL $(as_postgres psql -XAtc "SHOW server_version")"
echo "from the package to the first answer: $elapsed s, $(wc -l <commands) commands; $user s + $system s of a processor"
awk -v seconds="$limited" 'BEGIN { exit seconds >= 60 }' || fail "that is more than a minute"

mkdir tour
awk '/^```/ { kind = kind == "" ? substr($0, 4) : ""; next }
	kind == "sql" { print >"tour/sql" } kind == "text" { print >"tour/expected" }' "$documentation/README.md"
chmod -R a+rX tour .
as_postgres createdb --encoding=UTF8 --template=template0 tour
(cd "$documentation" && as_postgres psql -X -q -v ON_ERROR_STOP=1 -d tour) <tour/sql >tour/printed || fail "README.md"
diff -B tour/expected tour/printed || fail "README.md prints something else"
echo "README.md: $(wc -l <tour/expected) lines of output are the same"

dpkg-query --listfiles "$package" >files
apt-get purge -y "$package" </dev/null >log 2>&1 || { cat log >&2; fail "purge"; }
while read -r file; do
	[ -d "$file" ] && [ ! -L "$file" ] || [ ! -e "$file" ] || fail "purge left $file"
done <files
left=$(find / -xdev -name '*minlsh*' ! -path '/srv/*')
[ -z "$left" ] || fail "purge left $left"
! dpkg-query --show "$package" 2>/dev/null || fail "dpkg still knows $package"
[ "$(as_postgres psql -XAtc 'SELECT 1')" = 1 ] || fail "PostgreSQL after the purge"
echo "purged: $(wc -l <files) files and folders, and PostgreSQL runs on"
