# riffle. Everything that is built goes under $B; `make help` lists the targets.
# system: the librdkafka that pkg-config finds. bundled: a newer one, fetched, built and linked statically (scripts/librdkafka),
# in a build folder of its own. auto: the choice that scripts/deps made and keeps in a file; the build folder is the same for both.
LIBRDKAFKA ?= auto
RDKAFKA    := $(if $(filter auto,$(LIBRDKAFKA)),$(firstword $(shell cat build/librdkafka.choice 2>/dev/null) system),$(LIBRDKAFKA))
BUNDLED    := $(if $(filter bundled,$(RDKAFKA)),$(CURDIR)/build/librdkafka)
# LINK_STATIC=1: the libraries below are linked in, too, for a program that runs where they are missing.
LINK_STATIC ?=
B          ?= build$(if $(filter bundled,$(LIBRDKAFKA)),/bundled)
prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir    ?= $(prefix)/share
mandir     ?= $(datadir)/man
KAFKA      ?= 3.9
KAFKAS     ?= 3.9 4.1 4.4
CFLAGS     ?= -O2 -g
# A cross compiler, such as CC=aarch64-linux-gnu-gcc, has its own binutils next to it.
CROSS      := $(patsubst %-gcc,%-,$(filter %-gcc,$(notdir $(CC))))
OBJCOPY    ?= $(CROSS)objcopy
ifeq ($(origin AR),default)
AR         := $(CROSS)ar
endif
VERSION    := $(shell cat VERSION)

# ---- compiler and linker ----

PACKAGES := $(if $(BUNDLED),rdkafka-static,rdkafka) '>=' 2.0.2 avro-c yaml-0.1 libzstd zlib jansson libxxhash
PKG_CONFIG := $(if $(BUNDLED),PKG_CONFIG_PATH=$(BUNDLED)/lib/pkgconfig:$$PKG_CONFIG_PATH )pkg-config
# Of the program alone: the library needs no server.
SERVING  := libmicrohttpd
# Where pkg-config describes another system's root, it also puts that before the folder of the bundled librdkafka.
outside_root = $(if $(BUNDLED),$(subst $(PKG_CONFIG_SYSROOT_DIR)$(BUNDLED)/,$(BUNDLED)/,$1),$1)
INCLUDED := $(patsubst -I$(BUNDLED)/%,-isystem $(BUNDLED)/%,$(call outside_root,\
	$(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null; $(PKG_CONFIG) --cflags $(SERVING) 2>/dev/null)))
LINKED   := $(call outside_root,$(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null))
RDKAFKA_VERSION := $(shell $(PKG_CONFIG) --modversion $(firstword $(PACKAGES)) 2>/dev/null)
# Of riffle.pc, for who links libriffle.a.
REQUIRES := $(if $(BUNDLED),libssl libcrypto zlib,rdkafka) avro-c libzstd libxxhash jansson
# Not jansson: Debian's static one is not for a shared library.
INSIDE   := $(if $(LINK_STATIC),$(addprefix -l,avro yaml zstd z xxhash ssl crypto))
NAMED_LIBS = $(if $(INSIDE),-Wl$(COMMA)--start-group $(foreach l,$(LINKED),$(if $(filter $l,$(INSIDE)),-l:lib$(l:-l%=%).a,$l)) \
	-Wl$(COMMA)--end-group,$(LINKED))
LIBS      = $(or $(NAMED_LIBS),$(error riffle needs pkg-config and $(PACKAGES): `make deps-build` installs them)) -lm
SERVED   := $(shell $(PKG_CONFIG) --libs $(SERVING) 2>/dev/null)
LIBS_CLI  = $(or $(SERVED),$(error riffle needs $(SERVING): `make deps-build` installs it)) $(LIBS)
OURS     := -std=c11 -D_GNU_SOURCE -DRIFFLE_VERSION='"$(VERSION)"' -I. -fPIC -pthread -fvisibility=hidden \
	-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wvla -Wstrict-prototypes \
	$(if $(CI),-Werror)
# Not where a sanitizer has checks of its own; -D_FORTIFY_SOURCE works where the compiler optimizes.
HASH     := \#
FORTIFY  := $(if $(shell echo '$(HASH)include <features.h>' | $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -dM -E \
	-x c - 2>/dev/null | grep '__USE_FORTIFY_LEVEL 3'),3,2)
HARDEN    = $(if $(findstring -fsanitize,$(CFLAGS))$(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$(FORTIFY)) -fstack-protector-strong
COMPILE   = $(CC) $(OURS) $(HARDEN) $(INCLUDED) $(CPPFLAGS) $(CFLAGS)
LINK      = $(CC) -pthread $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -Wl,-z,relro,-z,now,-z,noexecstack
PROGRAM   = $(LINK) -pie
# For scripts that ask the compiler or read what it was told.
export COMPILE_COMMAND = $(COMPILE)

# ---- what there is ----

objects   = $(patsubst %.c,$B/%.o,$(wildcard $(addsuffix /*.c,$1)))
programs  = $(patsubst %.c,$B/%,$(wildcard $1))
CLI      := $(call objects,cli cli/*) $B/gen/serve_page.o $B/gen/build_info.o
CORE     := $(call objects,common/* producer/* consumer/*) $B/gen/schema_text.o
API      := $(patsubst %.c,$B/%.o,$(wildcard consumer/reader/riffle*.c))
TESTS    := $(call programs,$(addsuffix test_*.c,tests/unit/ tests/unit/*/ tests/unit/*/*/))
OTHERS   := $(call programs,tests/tools/*.c bench/*.c examples/*.c)
FUZZERS  := $(call programs,tests/fuzz/*.c)
REAL     := $B/conformance/real $B/conformance/sim
SIMULATED := $(patsubst %.c,$B/%.o,$(wildcard tests/sim/kafka/*.c))
SOURCES  := $(filter-out build/% $B/%,$(wildcard */*.[ch] */*/*.[ch] */*/*/*.[ch] */*/*/*/*.[ch]))
# T=mixer: only unit programs whose path has it.
NAMED     = $(strip $(foreach t,$(TESTS),$(if $(findstring $T,$t),$t)))
CHOSEN    = $(if $T,$(or $(NAMED),$(error no unit test has $T in its path)),$(TESTS) $B/sim)
# A make of its own, so that a target can come after another one, with a job for each core. It shows how far it is.
PARALLEL  = scripts/progress $(MAKE) --no-print-directory -s $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

build: deps-build  ## compile the program, the library, the tools
	@$(PARALLEL) product

product: $B/riffle $B/libriffle.so $B/libriffle.a $(OTHERS)

all-programs: product $(TESTS) $B/sim $(REAL)  ## and the programs of the tests

debug: deps-unit  ## the same for a debugger, with -O0 -g3, in $B/debug
	@$(PARALLEL) B=$B/debug CFLAGS='-O0 -g3' all-programs

# ---- objects, libraries, programs ----

# Which librdkafka $B is built with. The file is written if that differs, and then everything is compiled again.
USED := $(strip $(RDKAFKA) $(RDKAFKA_VERSION))
ifneq ($(USED),$(shell cat $B/librdkafka.used 2>/dev/null))
$B/librdkafka.used: always
endif
$B/librdkafka.used:
	@mkdir -p $(@D)
	@echo '$(USED)' > $@

$B/%.o: %.c VERSION $B/librdkafka.used
	@mkdir -p $(@D)
	@[ -z "$$RIFFLE_PROGRESS" ] || scripts/progress --compiling $<
	$(COMPILE) -MMD -MP -c -o $@ $<

# What a unit test calls decides how long it takes. Optimizing the tests themselves would take longer than it saves.
ifeq ($(origin CFLAGS),file)
$B/tests/unit/%.o: CFLAGS = -O0 -g
endif

$B/gen/schema_text.c: $(wildcard schemas/*.avsc schemas/earlier/*.avsc) scripts/embed-schemas
	@mkdir -p $(@D)
	scripts/embed-schemas schemas > $@

$B/gen/serve_page.c: cli/serve/page.html scripts/embed-page
	@mkdir -p $(@D)
	scripts/embed-page $< > $@

# Looked at each time, and written if it differs.
$B/gen/build_info.c: always
	@mkdir -p $(@D)
	@scripts/embed-build $@ '$(CC)' '$(strip $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))' '$(if $(BUNDLED),bundled,system)'

$B/gen/%.o: $B/gen/%.c $B/librdkafka.used
	$(COMPILE) -MMD -MP -c -o $@ $<

# Examples include <riffle.h>, as where the library is installed.
$B/examples/%.o: OURS += -Iconsumer/reader

$B/core.a: $(CORE)
	@rm -f $@
	$(AR) rcs $@ $^

# For the tests of the command line's parts.
$B/cli.a: $(filter-out $B/cli/main.o,$(CLI))
	@rm -f $@
	$(AR) rcs $@ $^

$B/riffle: $(CLI) $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS_CLI)

# The library is whatever riffle*.o needs of the rest; only RIFFLE_API symbols are visible.
# A bundled librdkafka is inside of it; whoever links libriffle.a sees nothing of that either.
$B/libriffle.a: $(API) $B/core.a $(addsuffix /lib/librdkafka.a,$(BUNDLED))
	$(CC) -r -nostdlib -o $B/libriffle.o $^
	$(OBJCOPY) --localize-hidden --wildcard --keep-global-symbol='riffle_*' $B/libriffle.o
	@rm -f $@ && $(AR) rcs $@ $B/libriffle.o

$B/libriffle.so.0: $(API) $B/core.a consumer/reader/libriffle.map
	$(LINK) -shared -Wl,-soname,libriffle.so.0 -Wl,--no-undefined \
	    -Wl,--version-script=consumer/reader/libriffle.map -o $@ $(filter-out %.map,$^) $(LIBS)

$B/libriffle.so: $B/libriffle.so.0
	ln -sf libriffle.so.0 $@

$(OTHERS): $B/%: $B/%.o $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS)

$(TESTS): $B/%: $B/%.o $B/cli.a $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS_CLI) -lcmocka

$(FUZZERS): $B/%: $B/%.o $B/cli.a $B/core.a
	$(PROGRAM) -fsanitize=fuzzer -o $@ $^ $(LIBS_CLI)

# A Kafka in memory behind the calls of librdkafka; linked before core.a it also takes its clock.
$B/librdkafka_sim.a: $(SIMULATED)
	@rm -f $@
	$(AR) rcs $@ $^

# Waits of the producer's threads are without time-outs in it, so that a seed decides everything.
COMMA    := ,
SIM_WRAP := $(addprefix -Wl$(COMMA)--wrap=,pool_take chunk_queue_take thread_probe pthread_create pthread_join pthread_detach)
SIM_OBJECTS := $(patsubst %,$B/tests/sim/%.o,sim driver task heap checker checker_free checker_inbox actors readers inbox world world_kinds orders seams prefetch_now pool_now owner_now chunk_queue_now holder_now)
$B/sim: $(SIM_OBJECTS) $B/librdkafka_sim.a $B/core.a
	$(PROGRAM) $(SIM_WRAP) -o $@ $^ $B/librdkafka_sim.a $(filter-out -lrdkafka %/librdkafka.a,$(LIBS))

# The same scenarios against librdkafka and against the simulation.
$B/conformance/real: $(call objects,tests/conformance) $B/core.a
	@mkdir -p $(@D)
	$(PROGRAM) -o $@ $^ $(LIBS)

$B/conformance/sim: $(call objects,tests/conformance) $B/librdkafka_sim.a $B/core.a
	@mkdir -p $(@D)
	$(PROGRAM) -o $@ -Wl,--start-group $^ -Wl,--end-group $(filter-out -lrdkafka %/librdkafka.a,$(LIBS))

# Libraries that tests load into the program.
$B/tests/%.so: $B/tests/%.o
	$(LINK) -shared -o $@ $< -ldl

# ---- tests ----

unit: deps-unit  ## every unit test, and a short simulation; needs no broker. T=mixer: those with it in their path
	+@$(PARALLEL) $(CHOSEN)
	@scripts/run-tests $(CHOSEN)

SEEDS ?= 10000
sim:  ## riffle on a Kafka in memory under SEEDS (10000) seeds of faults; SEED=n replays one
	@$(PARALLEL) $B/sim
	@$B/sim $(if $(LOST),--lost) $(if $(SHARED),--shared) $(if $(DERIVED),--derived) $(if $(LIVE),--live) $(if $(READERS),--readers) $(if $(MIXED),--mixed) $(if $(SEED),--seed $(SEED) $(if $(WITHOUT),--without $(WITHOUT)),--seeds $(SEEDS))

sim-long:
	@$(MAKE) --no-print-directory sim SEEDS=1000000

mutants: deps-unit  ## one change at a time in what decides: do the unit tests and the simulation see it? N=200 SEED=1
	@$(PARALLEL) B=$B/mutants CFLAGS=-O2 mutate

mutate: $(TESTS) $B/sim
	@B=$B LINK_COMMAND='$(PROGRAM)' LIBS='$(LIBS_CLI)' SIM_OBJECTS='$(SIM_OBJECTS)' SIM_WRAP='$(SIM_WRAP)' \
	    scripts/mutants $(if $N,--number $N) $(if $(SEED),--seed $(SEED)) $(MUTANTS)

test: deps-test  ## all tests, with a Kafka that it starts (KAFKA=4.4: the newest). T=tests/kafka/test_read.py[::NAME]: these
	@echo == compiling
	@$(PARALLEL) fetch-for-tests $(if $T,product $(REAL),all-programs)
	@B=$B KAFKA=$(KAFKA) LONG=$(LONG) $(if $T,scripts/test-one '$T',scripts/test $(TESTS) $B/sim)

# This takes most of a minute of one core in a fresh clone, so `make test` does it while programs compile.
fetch-for-tests:
	@scripts/venv
	@scripts/vocab

test-all:  ## the same, and the tests that take more than 15 s and repeat what another one sees (`git grep mark.long tests`)
	@$(MAKE) --no-print-directory test LONG=1

matrix:  ## `make test` with the system's librdkafka and the bundled one, each on every KAFKAS (3.9 4.1 4.4), as a table
	@KAFKAS='$(KAFKAS)' MAKE='$(MAKE)' scripts/matrix

asan: deps-unit  ## the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(PARALLEL) B=$B/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' unit

test-sanitized: deps-test  ## Kafka tests with the program under ASan and UBSan, then TSan: serve, --metrics; or T=tests/kafka/test_x.py
	@$(PARALLEL) product
	@$(PARALLEL) B=$B/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' $B/asan/riffle
	@$(PARALLEL) B=$B/tsan CFLAGS='-O1 -g -fsanitize=thread' $B/tsan/riffle $B/tsan/tests/tsan/c11_threads.so
	@B=$B KAFKA=$(KAFKA) scripts/test-sanitized $(or $T,tests/kafka/test_serve.py tests/kafka/test_metrics.py)

stress-python: deps-test  ## random calls of the Python package from many threads, plain, under ASan and under TSan, SECONDS=600 each; SEED=N repeats
	@$(PARALLEL) product
	@$(PARALLEL) B=$B/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' $B/asan/libriffle.so.0
	@$(PARALLEL) B=$B/tsan CFLAGS='-O1 -g -fsanitize=thread' $B/tsan/libriffle.so.0 $B/tsan/tests/tsan/c11_threads.so
	@B=$B KAFKA=$(KAFKA) scripts/stress-python $(or $(SECONDS),600) $(SEED)

# The simulation is of many seeds in `make sim`; here it is for what the tools see of it.
tsan: deps-test  ## unit tests, simulation and a short real run under ThreadSanitizer
	@$(PARALLEL) B=$B/tsan CFLAGS='-O1 -g -fsanitize=thread' all-programs $B/tsan/sim $B/tsan/tests/tsan/c11_threads.so
	@B=$B/tsan KAFKA=$(KAFKA) scripts/checked tsan $(patsubst $B/%,$B/tsan/%,$(TESTS))

valgrind: deps-test deps-valgrind  ## the same under valgrind
	@$(PARALLEL) B=$B/valgrind CFLAGS='-O1 -g -DSIM_PROCESSES' all-programs $B/valgrind/sim
	@B=$B/valgrind KAFKA=$(KAFKA) scripts/checked valgrind $(patsubst $B/%,$B/valgrind/%,$(TESTS))

fuzz: deps-clang  ## every libFuzzer target for FUZZ_SECONDS (60), under both sanitizers
	@$(PARALLEL) B=$B/fuzz CC=clang CFLAGS='-O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined' fuzzers
	@scripts/fuzz $(patsubst $B/%,$B/fuzz/%,$(FUZZERS))

fuzzers: $(FUZZERS)

fuzz-tokenizer: deps-test  ## random tokenizer.json files beside the library tokenizers, for FUZZ_SECONDS (60); SEED=n repeats a run, CASE=n one file of it
	@$(PARALLEL) product
	@scripts/venv && B=$B build/venv/bin/python scripts/fuzz-tokenizer --seconds $(or $(FUZZ_SECONDS),60) $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE)) $(if $(JOBS),--jobs $(JOBS))

vectors: deps-clang  ## the test vectors with gcc and clang at -O0, -O3 and -march=native: the same everywhere
	@B=$B MAKE='$(PARALLEL)' scripts/vectors

test-torch: deps-test  ## the tests that need PyTorch, which it installs (about 6 GB)
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/test-in torch

test-stores: deps-test  ## the source of Parquet and Arrow files on s3:// and gs://, from servers on loopback
	@B=$B scripts/test-in stores

test-page: deps-test deps-page  ## the page of `riffle serve` in Chromium; its pictures go to $B/page
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/test-in page

test-derived: deps-test  ## a mix without copies has the steps of one with them, over STEPS (2000)
	@$(PARALLEL) product
	@DERIVED_STEPS=$(or $(STEPS),2000) $(MAKE) --no-print-directory test T=tests/kafka/test_derived.py::test_steps_are_those_of_a_mix_with_copies

test-frameworks: deps-test  ## trainings in other frameworks, killed and resumed, each in a venv of its own (some GB). F=lightning: one; CLONES=FOLDER: clones of those in no package index
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/test-frameworks $F

test-packages: deps-packages wheel deb  ## wheel, Debian packages, tarball and image, used where nothing is installed; the compose file
	@$(PARALLEL) deb LIBRDKAFKA=bundled
	@scripts/vocab
	@B=$B KAFKA=$(KAFKA) scripts/test-in packages

test-distros:  ## `make demo` and `make unit` in fresh Debians 12 and 13; on arm64 under qemu the unit programs, vectors and a mix. D=debian-13: one
	@scripts/distros $D

test-metrics: deps-test  ## a Prometheus that scrapes a mix while it runs, and evaluates rules and dashboard
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/test-one tests/metrics

test-java: deps-test deps-java  ## Java reads our records by Avro's own library, as docs/KAFKA.md says
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/test-one tests/java

nightly: test test-derived asan tsan test-sanitized valgrind vectors test-torch test-stores test-page test-frameworks test-metrics test-java test-packages sim-long  ## all tests: sanitizers, valgrind, other compilers, PyTorch, other frameworks, 10^6 seeds

CHAOS = $(PARALLEL) product $B/tests/chaos/clock_jump.so && B=$B KAFKA=$(KAFKA) scripts/chaos
chaos: deps-test  ## three brokers, a mix with a standby, and every fault; SEED=n repeats one, FAULTS=a,b picks
	@$(CHAOS) chaos $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS))

soak: deps-test  ## MINUTES (30) at full rate with a fault a minute: memory and descriptors stay flat
	@$(CHAOS) soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

stuck: deps-test  ## a trainer that is slow for SLOW (600) seconds, a broker that is dead for DEAD (60)
	@$(CHAOS) stuck --slow $(or $(SLOW),600) --dead $(or $(DEAD),60)

lagging: deps-test  ## RUNS (200) short runs of live domains near followers that lag; it continues after an interrupt. SEED=n begins again, RUN=k repeats one
	@$(PARALLEL) product
	@B=$B KAFKA=$(KAFKA) scripts/chaos lagging $(if $(RUNS),--runs $(RUNS)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) $(if $(RUN),--run $(RUN))

# ---- what a person looks at ----

demo: deps-demo  ## the whole pipeline on real text: produce, mix, train, kill, resume
	@echo "demo: compiling, which takes about two minutes on two cores the first time"
	@$(PARALLEL) product
	@B=$B scripts/demo

demo-page: deps-demo  ## the demo's mix while it runs, for a browser: says its address, ends with Ctrl-C
	@$(PARALLEL) product
	@B=$B scripts/demo --page

picture: deps-demo deps-page  ## docs/pictures/page.png again: the page of `riffle serve` beside the demo's mix
	@$(PARALLEL) product
	@scripts/venv page && B=$B build/venv-page/bin/python scripts/picture

bench: deps-demo  ## rates beside a bare librdkafka loop, memory, 1,024 lanes
	@$(PARALLEL) product
	@B=$B scripts/bench

FORMS = copied,derived
swarm: deps-test  ## 200 mixes over one corpus, with copies and without, read in turn: bytes, memory, seconds; MIXES=n, FORM=derived, and WAIT=s, in which all wait
	@$(PARALLEL) product
	@scripts/venv && B=$B build/venv/bin/python examples/swarm.py --batches $(or $(FORM),$(FORMS)) $(if $(MIXES),--mixes $(MIXES)) $(if $(WAIT),--wait $(WAIT))

bench-serve: deps-test deps-page  ## what watching costs: --metrics in a mixer, serve beside one, a ledger of a million steps
	@$(PARALLEL) product
	@scripts/venv page && B=$B KAFKA=$(KAFKA) build/venv-page/bin/python scripts/bench-serve

bench-trainers: deps-test  ## riffle next to other loaders on the same rows (fetches them: some 3.5 GB)
	@$(PARALLEL) product
	@B=$B scripts/bench-trainers

bench-tokenizer: deps-test  ## one core beside seven other tokenizers, two threads, and from a file to Kafka
	@$(PARALLEL) product
	@B=$B scripts/bench-tokenizer

bench-produce: deps-test  ## from one .jsonl.zst, beside what others make files of tokens with (fetches them: some 3 GB)
	@$(PARALLEL) product
	@B=$B scripts/bench-produce

# ---- what a machine can judge without running it ----

check: deps-check  ## layers, format, generated documents, warnings, static analysis
	@$(PARALLEL) layers format-check
	@B=$B scripts/check

layers:  ## fail where a file sees what docs/rooms.txt does not allow its room
	@scripts/layers

format:  ## clang-format every source
	@clang-format -i $(SOURCES)

format-check:  ## fail where clang-format would change a file
	@clang-format --dry-run -Werror $(SOURCES)

compile_commands.json: $(filter %.c,$(SOURCES)) Makefile scripts/compile-commands  ## for clangd and clang-tidy
	@scripts/compile-commands $(filter %.c,$^) > $@

# ---- around it ----

deps: $(addprefix deps-,build demo test check clang valgrind)  ## install all that these targets need (Debian packages)

deps-%:
	@LIBRDKAFKA=$(LIBRDKAFKA) scripts/deps $*

wheel: wheel-programs  ## the Python package with program, library and all that these need inside, in build/wheels
	@scripts/wheel build/wheel build/wheels

wheel-programs:
	@LIBRDKAFKA=bundled scripts/deps wheel
	@$(PARALLEL) LIBRDKAFKA=bundled LINK_STATIC=1 B=build/wheel LDFLAGS='-s -Wl,--gc-sections -Wl,--exclude-libs,ALL' \
	    build/wheel/riffle build/wheel/libriffle.so.0

dist:  ## the tarball of this commit, the same bytes each time, in build/dist
	@scripts/dist build/dist

image:  ## the container image riffle:VERSION, by docker, podman or buildah; ENGINE=podman: by that one; ARCH=arm64: for that processor
	@ARCH=$(ARCH) scripts/image

deb: deps-deb  ## the Debian packages riffle, libriffle0 and libriffle-dev of this commit, in build/deb; bundled: build/deb-bundled
	@LIBRDKAFKA=$(LIBRDKAFKA) scripts/deb build/deb

INSTALL = DESTDIR=$(DESTDIR) prefix=$(prefix) bindir=$(bindir) libdir=$(libdir) includedir=$(includedir) \
	datadir=$(datadir) mandir=$(mandir) requires='$(REQUIRES)' scripts/install
install: deps-build  ## program, library, header, pkg-config file, manual pages, completions under $(DESTDIR)$(prefix)
	@$(PARALLEL) $B/riffle $B/libriffle.so $B/libriffle.a
	@$(MAKE) -s put-in-place

# A make of its own, because riffle.pc depends on the librdkafka that deps-build has chosen.
put-in-place:
	@$(INSTALL) $B $(VERSION)

uninstall:  ## remove what `make install` with the same prefix has put there
	@$(INSTALL) --remove $B $(VERSION)

clean:  ## remove what was compiled; what was fetched, and a broker that runs, stay under $B
	@[ ! -d $B ] || find $B -mindepth 1 -maxdepth 1 ! -name 'venv*' ! -name vocab ! -name jars ! -name kafka ! -name demo ! -name texts -exec rm -rf {} +
	@rm -f compile_commands.json build/librdkafka.choice

help:  ## show this list
	@awk -F':.*## ' '/^[a-z_.-]+:.*## / { printf "%-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: always build product all-programs debug unit sim sim-long mutants mutate test fetch-for-tests test-all matrix asan tsan test-sanitized stress-python valgrind fuzz fuzzers fuzz-tokenizer vectors test-torch test-stores test-page test-derived test-frameworks test-metrics test-java test-packages test-distros nightly chaos \
	stuck soak lagging demo demo-page picture bench bench-serve swarm bench-trainers bench-tokenizer bench-produce check layers format format-check deps wheel wheel-programs dist image deb install put-in-place uninstall clean help
.SECONDARY:
-include $(patsubst %.c,$B/%.d,$(filter %.c,$(SOURCES))) $B/gen/schema_text.d $B/gen/build_info.d
