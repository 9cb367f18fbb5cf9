#!/usr/bin/env bash
# cargo, of the Rust that everything else is built with: scripts/cargo.sh test -p minlsh-sketch
. "$(dirname "$0")/lib.sh"
exec cargo "$@"
