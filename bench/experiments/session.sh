# Shared by scripts that measure one session of a server on this machine: `. session.sh DATABASE` opens it.
# shellcheck shell=bash
set -euo pipefail

coproc session { psql -XqAt -v ON_ERROR_STOP=1 -d "$1" 2>&1; }
run() { # Sends SQL that returns one row, and reads it.
	printf '%s;\n' "$1" >&"${session[1]}"
	IFS= read -r answer <&"${session[0]}"
}
ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
machine() { echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"; }
run "SELECT pg_backend_pid()" && pid=$answer
# taken SQL: runs it, and sets `seconds` to those that the session has been on the processor.
taken() {
	local before
	before=$(ticks)
	run "$1"
	seconds=$(awk -v ticks=$(($(ticks) - before)) -v hertz="$(getconf CLK_TCK)" 'BEGIN { print ticks / hertz }')
}
