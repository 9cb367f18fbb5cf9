#!/usr/bin/env bash
# make fuzz: a random caller of every SQL function, and the engine's fuzz targets (crates/sketch/fuzz), each of
# the two for SECONDS_EACH. With --engine or --sql only that one. SEED repeats a run.
. "$(dirname "$0")/lib.sh"
part=${1:-}
seconds=${SECONDS_EACH:-20}
seed=${SEED:-$RANDOM}
say "fuzzing with SEED=$seed"

# The targets are libFuzzer's. What cargo-fuzz would do is to pass these flags; so it is not needed, nor is a
# nightly compiler: RUSTC_BOOTSTRAP lets a stable one instrument for the address sanitizer.
fuzz_engine() {
	local host target each
	host=$(rustc -vV | sed -n 's/^host: //p')
	mapfile -t targets < <(sed -n 's/^name = "\(.*\)"/\1/p' crates/sketch/fuzz/Cargo.toml | tail -n +2)
	each=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
	local flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
	flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
	flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
	if compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/librustc-*_rt.asan.a" >/dev/null; then
		flags+=" -Zsanitizer=address"
	else
		say "without the address sanitizer, which Debian's packages of Rust do not have"
	fi
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=$flags CARGO_TARGET_DIR=$root/build/target/fuzz cargo build --locked --release \
		--manifest-path crates/sketch/fuzz/Cargo.toml --target "$host"
	for target in "${targets[@]}"; do
		say "engine: $target, $each s"
		mkdir -p "build/fuzz/$target"
		# What was found before is kept in build/fuzz, and a new run starts from there.
		"build/target/fuzz/$host/release/$target" -seed="$seed" -max_total_time="$each" -max_len=4096 -timeout=10 \
			-rss_limit_mb=4096 -verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix="build/fuzz/" \
			"build/fuzz/$target" >"build/fuzz/$target.log" 2>&1 || { cat "build/fuzz/$target.log" >&2; return 1; }
		echo "$target: $(sed -n 's/^stat::number_of_executed_units: //p' "build/fuzz/$target.log") inputs"
	done
}
fuzz_sql() {
	say "SQL functions, $seconds s"
	MINLSH_FUZZ_SECONDS=$seconds MINLSH_FUZZ_SEED=$seed scripts/integration.sh --test fuzz -- --nocapture
}

case $part in
--engine) fuzz_engine ;;
--sql) fuzz_sql ;;
*) fuzz_engine && fuzz_sql ;;
esac
