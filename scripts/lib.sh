# Shared by the other scripts: `. scripts/lib.sh`.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export LC_ALL=C.UTF-8 TZ=UTC
# A backtrace would be added as DETAIL to every error and spoil the expected output.
unset RUST_BACKTRACE MAKEFLAGS

# Rust: the one in PATH, or, if that is older than Cargo.toml asks for, the one that packages have put into /usr/bin.
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# True if a cargo is there, and new enough.
rust_suffices() {
	local version
	version=$("$1" --version 2>/dev/null) && printf '%s\n' "cargo $rust_wanted" "$version" | sort -CV
}
if ! rust_suffices cargo && rust_suffices /usr/bin/cargo; then
	# Links, as /usr/bin itself in front of the others would change python3 as well.
	mkdir -p build/rust/bin
	ln -sf /usr/bin/{cargo,cargo-clippy,cargo-fmt,clippy-driver,rustc,rustdoc,rustfmt} build/rust/bin/
	PATH=$root/build/rust/bin:$PATH
fi

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Reads what `cargo test` prints, and prints the seconds that each file of tests took, the slowest first.
seconds_of_files() {
	awk '/^ +Running / { file = $2 == "unittests" ? $3 : $2 } /^ +Doc-tests / { file = "doc-tests" }
		/^test result: .*finished in/ { print substr($NF, 1, length($NF) - 1), file }' | sort -rn
}

# $pg_config and pg_major: the PostgreSQL at hand.
pg_config=${PG_CONFIG:-$(scripts/pg-config.sh)}
pg_major() { "$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }
# What is compiled for it goes into a folder of that name: assertions change the headers.
pg_build() {
	if "$pg_config" --configure | grep -q enable-cassert; then echo "pg$(pg_major)-cassert"; else echo "pg$(pg_major)"; fi
}

# What tests need is compiled by the profile "quick", and for one selection of packages, whichever of them a command is
# about: with other features the engine would be compiled again, for minutes. `make test` has it in the folder of the
# newest version's extension, in TESTS_TARGET, and compiles the extension for the same selection.
tests_target=${TESTS_TARGET:-$root/build/target/tests}
selection=(-p minlsh -p minlsh-sketch -p minlsh-engine-tests -p minlsh-integration --no-default-features)

# PostgreSQL refuses to run as root: then its servers run as an unprivileged user.
if [ "$(id -u)" = 0 ]; then
	if id postgres >/dev/null 2>&1; then server_user=postgres; else server_user=nobody; fi
	as_server_user() { (cd / && runuser -u "$server_user" -- "$@"); }
else
	server_user=$(id -un)
	as_server_user() { "$@"; }
fi

# Where the PostgreSQL versions are that scripts/postgres-versions.sh fetches. The servers' user
# must get there, and nobody but us may write there.
pg_cache() {
	mkdir -p build
	if [ -n "${MINLSH_PG_CACHE:-}" ]; then
		echo "$MINLSH_PG_CACHE"
	elif as_server_user test -x "$root/build"; then
		echo "$root/build/pg"
	else
		echo /var/cache/minlsh-pg
	fi
}

# The private servers are reached by the options given, not by what a user has set.
forget_connection_settings() {
	local name
	for name in "${!PG@}"; do
		case $name in PG | PG_*) ;; *) unset "$name" ;; esac
	done
}

# make_run_dir NAME: a fresh directory that the servers' user can reach and write, in $run_dir.
# Below build/ if that user can get there and the path of a socket (107 bytes at most) leaves
# room, else below /tmp. The caller's EXIT trap shall be remove_run_dir.
make_run_dir() {
	mkdir -p build/run
	if [ ${#root} -le 50 ] && as_server_user test -x "$root/build/run"; then
		run_dir=$(mktemp -d "$root/build/run/$1.XXXXXX")
	else
		run_dir=$(mktemp -d "/tmp/minlsh-$1.XXXXXX")
	fi
	chmod 755 "$run_dir"
	[ "$(id -u)" != 0 ] || chown "$server_user" "$run_dir"
	# An interrupted bash would not wait for its EXIT trap to be due.
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# Stops the servers that still run in the run directory, and removes it.
remove_run_dir() {
	[ -n "${run_dir:-}" ] || return 0
	local lock
	while read -r lock; do
		as_server_user "$("$pg_config" --bindir)/pg_ctl" -D "$(dirname "$lock")" -m immediate -s stop \
			</dev/null >/dev/null 2>&1 || true
	done < <(find "$run_dir" -name postmaster.pid)
	rm -rf "$run_dir"
}

# stage DIR [COMMAND...]: installs the extension below DIR, by that command, which takes DESTDIR
# from its environment, and prints the settings with which a server finds it there.
stage() {
	local share lib settings directory=$1
	shift
	[ $# -gt 0 ] || set -- make -s install PG_CONFIG="$pg_config"
	share=$("$pg_config" --sharedir) lib=$("$pg_config" --pkglibdir)
	settings=$("$("$pg_config" --bindir)/postgres" --describe-config)
	if grep -q '^extension_control_path' <<<"$settings"; then # since PostgreSQL 18
		DESTDIR=$directory "$@" >&2
		echo "extension_control_path = '$directory$share:\$system'"
		echo "dynamic_library_path = '$directory$lib:\$libdir'"
	elif grep -q '^extension_destdir' <<<"$settings"; then # Debian's servers before 18
		DESTDIR=$directory "$@" >&2
		echo "extension_destdir = '$directory'"
	elif [[ $share == "$(pg_cache)"/* ]]; then # a server of our own
		# Another run may test the same server: one at a time installs, and what is the same stays as it is.
		(flock 9 && DESTDIR='' "$@" >&2) 9>"$(pg_cache)/$(pg_build).lock"
	else
		die "this PostgreSQL finds extensions in $share only: 'make install' and 'make installcheck' test it"
	fi
}

# The mirror from which this machine has the packages of its own Debian release.
debian_mirror() {
	local own
	own=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' |
		awk -v own="$own" '$2 == own && $1 ~ /debian\/$/ { print $1; exit }'
}

# How this machine's apt reaches it, as lines of apt.conf.
mirror_settings() {
	apt-config dump --format '%F "%v";%n' | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' || true
}

# own_apt DIR LINES: makes an apt of our own in DIR that knows the sources in LINES, in $APT_CONFIG. It shares
# nothing with the system's but how to reach the mirror, and needs no root rights. "MIRROR" and "KEYRING" in LINES are
# filled in. Fails, with the reason on standard error, where there is no Debian to ask.
own_apt() {
	local directory=$1 lines=$2 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	command -v apt-get >/dev/null || { echo "there is no apt-get to fetch it with" >&2; return 1; }
	mirror=$(debian_mirror)
	[ -n "$mirror" ] && [ -e "$keyring" ] || { echo "only Debian's packages can be fetched" >&2; return 1; }
	mkdir -p "$directory/lists/partial" "$directory/archives/partial" "$directory/parts"
	: >"$directory/status"
	lines=${lines//MIRROR/$mirror}
	echo "${lines//KEYRING/$keyring}" >"$directory/sources.list"
	mirror_settings >"$directory/apt.conf"
	cat >>"$directory/apt.conf" <<-END
		Dir::State "$directory";
		Dir::State::status "$directory/status";
		Dir::Cache "$directory";
		Dir::Etc::sourcelist "$directory/sources.list";
		Dir::Etc::sourceparts "$directory/parts";
		Dir::Etc::parts "$directory/parts";
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Debug::NoLocking "true";
	END
	export APT_CONFIG=$directory/apt.conf
	apt-get update -qq
}

# make_bare_debian RELEASE: a Debian of that release with nothing in it but what every system has, in $bare, which the
# caller's EXIT trap removes by remove_bare_debian. Returns 1, with the reason on standard error, if it cannot be made.
make_bare_debian() {
	local release=$1 mirror tool
	[ "$(id -u)" = 0 ] || { echo "a bare Debian is made by root" >&2; return 1; }
	for tool in debootstrap unshare apt-get; do
		command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; return 1; }
	done
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { echo "this is not Debian with a mirror" >&2; return 1; }
	mkdir -p build/run
	bare=$(mktemp -d "$root/build/run/bare.XXXXXX")
	chmod 755 "$bare"
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	say "a bare Debian $release"
	debootstrap --variant=minbase "$release" "$bare" "$mirror" >"$bare.log" ||
		{ tail -n 5 "$bare.log" >&2 && rm "$bare.log" && echo "debootstrap failed" >&2 && return 1; }
	rm "$bare.log"
	mirror_settings >"$bare/etc/apt/apt.conf.d/99mirror"
	# An authority that a proxy of this network signs with.
	mkdir -p "$bare/usr/local/share"
	[ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates "$bare/usr/local/share/"
	chroot "$bare" apt-get update -qq
	# Without an init system Debian starts no service, unless a policy allows it.
	printf '#!/bin/sh\nexit 0\n' >"$bare/usr/sbin/policy-rc.d"
	chmod 755 "$bare/usr/sbin/policy-rc.d"
}

# in_bare_debian DIRECTORY COMMAND...: runs it as root in there. Its processes end with it.
in_bare_debian() {
	unshare --mount --pid --ipc --uts --fork --kill-child --root="$1" --wd=/srv --mount-proc \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "${@:2}"
}

remove_bare_debian() { [ -z "${bare:-}" ] || rm -rf --one-file-system "$bare" "$bare".*; }
