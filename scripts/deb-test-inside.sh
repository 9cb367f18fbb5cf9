#!/usr/bin/env bash
# What scripts/deb-test.sh runs as root in the bare system, with the package, the commands and what they shall print.
major=$1
package=postgresql-$major-minlsh
documentation=/usr/share/doc/$package
as_postgres() { (cd "$documentation" && runuser -u postgres -- "$@"); }
fail() { echo "error: $*" >&2; exit 1; }

# The list of the mirror's packages is there on a system in use.
apt-get update -qq
start=$(date +%s%N)
bash -e commands >log 2>&1 || { cat log >&2; fail "docs/install.md"; }
milliseconds=$((($(date +%s%N) - start) / 1000000))
tail -n "$(wc -l <expected)" log | diff expected - || fail "the first answer is another one"
[ "$milliseconds" -lt 60000 ] || fail "to the first answer: $milliseconds ms"
echo "from the package to the first answer: $milliseconds ms, $(wc -l <commands) commands"

mkdir tour
awk '/^```/ { kind = kind == "" ? substr($0, 4) : ""; next }
	kind == "sql" { print >"tour/sql" } kind == "text" { print >"tour/expected" }' "$documentation/README.md"
chmod -R a+rX tour .
as_postgres createdb --encoding=UTF8 --template=template0 tour
as_postgres psql -X -q -v ON_ERROR_STOP=1 -d tour <tour/sql >tour/printed || fail "README.md"
diff tour/expected tour/printed || fail "README.md prints something else"
echo "README.md: $(wc -l <tour/expected) lines of output are the same"

dpkg-query --listfiles "$package" >files
apt-get purge -y "$package" >log 2>&1 || { cat log >&2; fail "purge"; }
while read -r file; do
	[ -d "$file" ] && [ ! -L "$file" ] || [ ! -e "$file" ] || fail "purge left $file"
done <files
left=$(find / -xdev -name '*minlsh*' ! -path '/root/*')
[ -z "$left" ] || fail "purge left $left"
! dpkg-query --show "$package" 2>/dev/null || fail "dpkg still knows $package"
as_postgres() { (cd / && runuser -u postgres -- "$@"); }
[ "$(as_postgres psql -XAtc 'SELECT 1')" = 1 ] || fail "PostgreSQL after the purge"
echo "purged: $(wc -l <files) files and folders, and PostgreSQL runs on"
