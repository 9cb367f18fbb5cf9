# minlsh: near-duplicate documents, found inside PostgreSQL. Logic lives in scripts/.
#
#   make              build the extension for PG_CONFIG
#   make install      install it there (PG_CONFIG, DESTDIR as for any PGXS extension)
#   make demo         find near-duplicates in real text, in a throw-away server
#   make bench        minlsh beside its peers: writes docs/benchmarks.md and its plots
#   make experiments  repeat published experiments, and write bench/EXPERIMENTS.md and its plots
#   make pictures     draw those of the manual that show the output of its examples
#   make book         the manual as a site, with search, in build/book/html
#   make test         everything once: format, lint, engine, regression and integration tests
#   make test-all     the same with every test in full, on every version of PostgreSQL, and fuzzing
#   make dist         the source as PGXN distributes it: build/dist/minlsh-VERSION.zip; make pgxn-test tries it
#   make deb          Debian packages: build/deb/postgresql-NN-minlsh_VERSION_ARCHITECTURE.deb; make deb-test tries one
#   make image-test   the steps of packaging/server/Dockerfile, a server with minlsh, in a bare Debian
#   make arm64        the engine's tests as arm64, under qemu
#   make sbom         what the library is made of: build/minlsh.spdx.json
#   make torture      kills servers amid writers, CYCLES times, and verifies what is left
#   make torture-clusters  the same of tracked clusters, for so many CHANGES
#   make cassert      regression and integration tests on a PostgreSQL with its assertions on
#   make differential asks CASES random tables one question in every way, and compares with brute force
#   make fuzz         calls every SQL function, and the engine, with random values for SECONDS each

# Only a PG_CONFIG that was given goes to the scripts: they may have to install one first.
ifdef PG_CONFIG
export PG_CONFIG
else
PG_CONFIG = $(shell scripts/pg-config.sh)
endif
# PROFILE=quick builds less optimised, and again within seconds.
PROFILE ?= release

version := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" minlsh.control)
# Before its version 4.4 make does not hand exported variables to $(shell).
library = $(shell PG_CONFIG='$(PG_CONFIG)' PROFILE='$(PROFILE)' scripts/build.sh --where)
pkglibdir = $(DESTDIR)$(shell $(PG_CONFIG) --pkglibdir)
extensiondir = $(DESTDIR)$(shell $(PG_CONFIG) --sharedir)/extension

# Before a command: PG=17 has it run with that version, which is fetched if need be.
with_pg = $(if $(PG),PG_CONFIG=$$(scripts/postgres-versions.sh --config '$(PG)') && export PG_CONFIG &&)

.PHONY: all install uninstall installcheck demo clean
.PHONY: test test-all lint engine regress integration clients cassert torture torture-clusters differential fuzz accept
.PHONY: bench experiments pictures book sbom dist release-check pgxn-test deb deb-test image-test arm64

all:
	scripts/build.sh

install: all
	install -d '$(pkglibdir)' '$(extensiondir)'
	install -C -m 755 '$(library)' '$(pkglibdir)/minlsh.so'
	install -C -m 644 minlsh.control '$(extensiondir)/'
	install -C -m 644 sql/minlsh.sql '$(extensiondir)/minlsh--$(version).sql'
	for script in sql/minlsh--*--*.sql; do \
		[ ! -e "$$script" ] || install -C -m 644 "$$script" '$(extensiondir)/'; done

uninstall:
	rm -f '$(pkglibdir)/minlsh.so' '$(extensiondir)'/minlsh.control '$(extensiondir)'/minlsh--*.sql

installcheck:
	scripts/regress.sh --running

demo:
	scripts/demo.sh

# Measures minlsh beside datasketch, rensa and pg_trgm, on private servers and on one core, and writes
# docs/benchmarks.md. ARGUMENTS='pairs --sizes 10000 20000', ARGUMENTS=--redraw
bench:
	$(with_pg) BENCH_COMMAND="make bench$(if $(PG), PG=$(PG))$(if $(ARGUMENTS), ARGUMENTS='$(ARGUMENTS)')" \
		bench/run.sh $(ARGUMENTS)

# Repeats the published experiments on a private server, and writes bench/EXPERIMENTS.md. PG=18
experiments:
	$(with_pg) bench/experiments/run.sh

# From the output and the tables of the pages; the lint says when they are no longer those.
pictures:
	python3 scripts/pictures.py

book:
	scripts/book.sh

# PG=15: with that version only; else each test with one of those that can be had.
test:
	scripts/test.sh $(PG)

test-all:
	scripts/test.sh --all

lint:
	scripts/lint.sh

# The tests of the engine (crates/sketch), which need no PostgreSQL. TESTS=golden
engine:
	scripts/engine.sh $(TESTS)

# PG=16, TESTS='keys rights'
regress:
	$(with_pg) scripts/regress.sh $(TESTS)

# PG=16, TESTS='--test replication'
integration:
	$(with_pg) scripts/integration.sh $(TESTS)

# The recipes of docs/clients.md. PG=16, TESTS='Django JDBC'
clients:
	$(with_pg) scripts/clients.sh $(TESTS)

# CYCLES=100, PG=16; SEED=... repeats what the clients do, though not when a blow meets them
CYCLES ?= 20
torture:
	$(with_pg) MINLSH_TORTURE_CYCLES='$(CYCLES)' MINLSH_TORTURE_SEED='$(SEED)' \
		scripts/integration.sh --test torture -- --nocapture

# Tracked clusters amid writers, with kills. CHANGES=1000000, PG=16; SEED=...
CHANGES ?= 100000
torture-clusters:
	$(with_pg) MINLSH_TORTURE_CHANGES='$(CHANGES)' MINLSH_TORTURE_SEED='$(SEED)' \
		scripts/integration.sh --test clusters -- --nocapture

# CASES=20000, PG=16; SEED=... CASES=1 repeats a case
CASES ?= 300
differential:
	$(with_pg) MINLSH_DIFFERENTIAL_CASES='$(CASES)' MINLSH_DIFFERENTIAL_SEED='$(SEED)' \
		scripts/integration.sh --test differential -- --nocapture

# SECONDS=600, PG=16; SEED=... repeats a run
SECONDS ?= 60
fuzz:
	$(with_pg) SECONDS_EACH='$(SECONDS)' SEED='$(SEED)' scripts/fuzz.sh

# The same two on a PostgreSQL that is compiled with its assertions on: once, in some minutes.
cassert:
	$(MAKE) regress integration PG=cassert PROFILE=quick

# Takes what the regression tests print now as what they shall print.
accept:
	$(with_pg) scripts/regress.sh --accept $(TESTS)

dist:
	scripts/dist.sh

# Lists what a release still lacks: an origin, a day, figures, a tag.
release-check:
	scripts/release-check.sh

pgxn-test:
	scripts/pgxn-test.sh

deb:
	scripts/deb.sh

# The crates of Cargo.lock with versions, licences and checksums, in the format SPDX 2.3.
sbom:
	[ -x build/sbom/bin/cargo-sbom ] || cargo install --locked --quiet --root build/sbom --version 0.10.0 cargo-sbom
	build/sbom/bin/cargo-sbom sbom --output-format spdx_json_2_3 >build/minlsh.spdx.json

arm64:
	scripts/arm64.sh $(TESTS)

deb-test:
	scripts/deb-test.sh

# PG_MAJOR=19
image-test:
	scripts/image-test.sh

clean:
	rm -rf build target
