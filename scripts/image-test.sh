#!/usr/bin/env bash
# make image-test: takes the steps of packaging/server/Dockerfile without Docker, in bare Debians with PostgreSQL in the
# place of PostgreSQL's image, and starts the server that results as the entrypoint of that image does. PG_MAJOR=19 for
# another version. What Debian's release lacks comes from sid and experimental.
. "$(dirname "$0")/lib.sh"
skip() { echo "image of a server: SKIPPED: $1" >&2; exit 0; }
declare -A value=() stage=()
[ -z "${PG_MAJOR:-}" ] || value[PG_MAJOR]=$PG_MAJOR
variables=()

# image NAME: makes $bare what the image of that name is, or a copy of it for another stage.
image() {
	[[ $1 =~ ^postgres:([0-9]+)-([a-z]+)$ ]] || die "the image $1 is not one that a bare Debian can stand for"
	local major=${BASH_REMATCH[1]} release=${BASH_REMATCH[2]} mirror
	[ -z "${bare:-}" ] || return 0
	make_bare_debian "$release" || skip "no bare Debian"
	if ! chroot "$bare" apt-cache show "postgresql-$major" >/dev/null 2>&1; then
		mirror=$(debian_mirror)
		printf "deb $mirror %s main\n" sid experimental >"$bare/etc/apt/sources.list.d/newer.list"
		printf 'Package: src:postgresql-%s\nPin: release a=experimental\nPin-Priority: 500\n' "$major" \
			>"$bare/etc/apt/preferences.d/newer"
		chroot "$bare" apt-get update -qq
		chroot "$bare" apt-cache show "postgresql-$major" >/dev/null 2>&1 || skip "Debian has no PostgreSQL $major"
	fi
	in_bare_debian "$bare" apt-get install -y -qq --no-install-recommends "postgresql-$major" >"$bare/srv/log" 2>&1 ||
		{ tail -n 5 "$bare/srv/log" >&2 && skip "PostgreSQL $major cannot be installed"; }
	mkdir "$bare/docker-entrypoint-initdb.d"
}
# copy FROM TO: as the instruction COPY, the content of folders.
copy() {
	mkdir -p "$2"
	if [ -d "$1" ]; then cp -a "$1/." "$2"; else cp -a "$1" "$2"; fi
}

trap remove_bare_debian EXIT
while read -r instruction rest; do
	for name in "${!value[@]}"; do
		[ "$instruction" = RUN ] || rest=${rest//"\${$name}"/${value[$name]}}
	done
	read -ra words <<<"$rest"
	say "$instruction $rest"
	case $instruction in
	ARG)
		name=${rest%%=*}
		[ -n "${value[$name]:-}" ] || value[$name]=${rest#*=}
		[ ${#stage[@]} = 0 ] || variables+=("$name=${value[$name]}")
		;;
	FROM)
		image "${words[0]}"
		current=$bare.${#stage[@]} variables=()
		cp -a "$bare" "$current"
		stage[${words[2]:-last}]=$current
		;;
	COPY)
		case ${words[0]} in
		--from=*) copy "${stage[${words[0]#--from=}]}${words[1]}" "$current${words[2]}" ;;
		.) mkdir "$current${words[1]}" && git ls-files -z | tar --null -T - -c | tar -C "$current${words[1]}" -x ;;
		*) copy "${words[0]}" "$current${words[1]}" ;;
		esac
		;;
	RUN)
		in_bare_debian "$current" env -C / "${variables[@]}" sh -c "$rest" >"$bare/srv/log" 2>&1 </dev/null ||
			{ tail -n 30 "$bare/srv/log" >&2 && die "$instruction $rest"; }
		;;
	*) die "$instruction is not an instruction that this script knows" ;;
	esac
done < <(sed -e '/^#/d; /^$/d' -e ':joined; /\\$/ { N; s/\\\n *//; b joined }' packaging/server/Dockerfile)

say "the server's first start"
cat >"$current/srv/test" <<'INSIDE'
set -euo pipefail
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
mkdir -m 700 /srv/data /srv/socket
chown -R postgres /srv/data /srv/socket
as_postgres() { runuser -u postgres -- env PGHOST=/srv/socket "$@"; }
as_postgres "$(command -v initdb)" -D /srv/data -A trust >/dev/null
as_postgres "$(command -v pg_ctl)" -D /srv/data -l /srv/data/log -w -s -o "-c listen_addresses= -k /srv/socket" start
for file in /docker-entrypoint-initdb.d/*.sql; do as_postgres psql -X -q -v ON_ERROR_STOP=1 -d postgres -f "$file"; done
as_postgres psql -X -v ON_ERROR_STOP=1 -d postgres -Atc "SELECT version()" -c "SELECT minlsh_version()" \
	-c "SELECT * FROM near_duplicate_pairs('VALUES (1, ''One text''), (2, ''one  text'')', 0.9)"
[ -s /usr/share/doc/minlsh/copyright ]
INSIDE
answer=$(in_bare_debian "$current" bash test)
echo "$answer"
[ "$(tail -n 1 <<<"$answer")" = "1|2|1" ] || die "the server answers something else"
