# riffle. Everything that is built goes under $B; `make help` lists the targets.
B          ?= build
prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include
VERSION    := 0.1.0
KAFKA      ?= 3.9
CFLAGS     ?= -O2 -g
PACKAGES   := rdkafka avro-c yaml-0.1 libzstd zlib jansson libxxhash

OURS    := -std=c11 -D_GNU_SOURCE -DRIFFLE_VERSION='"$(VERSION)"' -I. -fPIC -pthread -fvisibility=hidden \
	-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wvla -Wstrict-prototypes \
	$(if $(CI),-Werror)
# Not where a sanitizer has checks of its own; -D_FORTIFY_SOURCE works where the compiler optimises.
HASH    := \#
FORTIFY := $(if $(shell echo '$(HASH)include <features.h>' | $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -dM -E \
	-x c - 2>/dev/null | grep '__USE_FORTIFY_LEVEL 3'),3,2)
HARDEN   = $(if $(findstring -fsanitize,$(CFLAGS))$(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$(FORTIFY)) -fstack-protector-strong
COMPILE  = $(CC) $(OURS) $(HARDEN) $(shell pkg-config --cflags $(PACKAGES)) $(CPPFLAGS) $(CFLAGS)
LIBS     = $(shell pkg-config --libs $(PACKAGES)) -lm
LINK     = $(CC) -pthread $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -Wl,-z,relro,-z,now,-z,noexecstack
PROGRAM  = $(LINK) -pie
PARALLEL = $(MAKE) --no-print-directory -s $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

objects  = $(patsubst %.c,$B/%.o,$(wildcard $(addsuffix /*.c,$1)))
programs = $(patsubst %.c,$B/%,$(wildcard $1))
CORE    := $(call objects,common/* producer/* consumer/*) $B/gen/schema_text.o
API     := $(patsubst %.c,$B/%.o,$(wildcard consumer/reader/riffle*.c))
TESTS   := $(call programs,$(addsuffix test_*.c,tests/unit/ tests/unit/*/ tests/unit/*/*/))
OTHERS  := $(call programs,tests/tools/*.c bench/*.c examples/*.c)
FUZZERS := $(call programs,tests/fuzz/*.c)
SIMULATED := $(patsubst %.c,$B/%.o,$(wildcard tests/sim/chance.c tests/sim/cluster*.c tests/sim/client*.c))
SOURCES  = $(filter-out build/%,$(wildcard */*.[ch] */*/*.[ch] */*/*/*.[ch] */*/*/*/*.[ch]))

build: $B/riffle $B/libriffle.so $B/libriffle.a $(OTHERS)  ## compile the program, the library, the tools

all-programs: build $(TESTS) $B/sim $B/conformance/real $B/conformance/sim

deps:  ## install what building and testing need (Debian packages)
	@scripts/deps

$B/riffle: $(call objects,cli cli/*) $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS)

$B/core.a: $(CORE)
	@rm -f $@
	$(AR) rcs $@ $^

# For the tests of the command line's parts.
$B/cli.a: $(filter-out $B/cli/main.o,$(call objects,cli cli/*))
	@rm -f $@
	$(AR) rcs $@ $^

# A Kafka in memory behind the calls of librdkafka; linked before core.a it also takes its clock.
$B/librdkafka_sim.a: $(SIMULATED)
	@rm -f $@
	$(AR) rcs $@ $^

# Waits of the producer's threads are without time-outs in it, so that a seed decides everything.
COMMA    := ,
SIM_WRAP := $(addprefix -Wl$(COMMA)--wrap=,pool_take chunk_queue_take pthread_create pthread_join pthread_detach)
$B/sim: $(patsubst %,$B/tests/sim/%.o,sim driver task heap checker actors world seams prefetch_now pool_now) $B/librdkafka_sim.a $B/core.a
	$(PROGRAM) $(SIM_WRAP) -o $@ $^ $B/librdkafka_sim.a $(filter-out -lrdkafka,$(LIBS))

# The library is whatever riffle*.o needs of the rest; only RIFFLE_API symbols are visible.
$B/libriffle.a: $(API) $B/core.a
	$(CC) -r -nostdlib -o $B/libriffle.o $^
	objcopy --localize-hidden $B/libriffle.o
	@rm -f $@
	$(AR) rcs $@ $B/libriffle.o

$B/libriffle.so.0: $(API) $B/core.a consumer/reader/libriffle.map
	$(LINK) -shared -Wl,-soname,libriffle.so.0 -Wl,--no-undefined \
	    -Wl,--version-script=consumer/reader/libriffle.map -o $@ $(filter-out %.map,$^) $(LIBS)

$B/libriffle.so: $B/libriffle.so.0
	ln -sf libriffle.so.0 $@

$B/gen/schema_text.c: $(wildcard schemas/*.avsc) scripts/embed-schemas
	@mkdir -p $(@D)
	scripts/embed-schemas schemas > $@

$B/gen/%.o: $B/gen/%.c
	$(COMPILE) -MMD -MP -c -o $@ $<

$B/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

$(TESTS): $B/%: $B/%.o $B/cli.a $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS) -lcmocka

# Examples include <riffle.h>, as where the library is installed.
$B/examples/%.o: OURS += -Iconsumer/reader

$(FUZZERS): $B/%: $B/%.o $B/core.a
	$(PROGRAM) -fsanitize=fuzzer -o $@ $^ $(LIBS)

$(OTHERS): $B/%: $B/%.o $B/core.a
	$(PROGRAM) -o $@ $^ $(LIBS)

# The same scenarios against librdkafka and against the simulation.
$B/conformance/real: $(call objects,tests/conformance) $B/core.a
	@mkdir -p $(@D)
	$(PROGRAM) -o $@ $^ $(LIBS)

$B/conformance/sim: $(call objects,tests/conformance) $B/librdkafka_sim.a $B/core.a
	@mkdir -p $(@D)
	$(PROGRAM) -o $@ -Wl,--start-group $^ -Wl,--end-group $(filter-out -lrdkafka,$(LIBS))

# Libraries that tests load into the program.
$B/tests/%.so: $B/tests/%.o
	$(LINK) -shared -o $@ $< -ldl

unit: $(TESTS) $B/sim  ## run every unit test; needs no broker
	@scripts/run-tests $^

SEEDS ?= 10000
sim:  ## riffle on a Kafka in memory under SEEDS (10000) seeds of faults; $B/sim --seed S replays one
	@$(PARALLEL) $B/sim
	@$B/sim --seeds $(SEEDS)

asan:  ## the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(PARALLEL) B=$B/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' unit

test: deps  ## everything: unit, Python, and a real Kafka that it starts itself (KAFKA=4.1: the newer)
	@echo == compiling
	@$(PARALLEL) all-programs
	@B=$B KAFKA=$(KAFKA) scripts/test $(TESTS) $B/sim

test-torch: deps  ## the tests that need PyTorch, which it installs (about 2.6 GB)
	@$(PARALLEL) build $(filter $B/tests/tools/%,$(OTHERS))
	@B=$B KAFKA=$(KAFKA) scripts/test-torch

test-stores:  ## the source of Parquet and Arrow files on s3:// and gs://, from servers on loopback
	@B=$B scripts/test-stores

# The simulation is of many seeds in `make sim`; here it is for what the tools see of it.
tsan:  ## unit tests, simulation and a short real run under ThreadSanitizer
	@$(PARALLEL) B=$B/tsan CFLAGS='-O1 -g -fsanitize=thread' all-programs $B/tsan/sim $B/tsan/tests/tsan/c11_threads.so
	@scripts/vocab
	@B=$B/tsan KAFKA=$(KAFKA) scripts/checked tsan $(patsubst $B/%,$B/tsan/%,$(TESTS))

valgrind:  ## the same under valgrind
	@$(PARALLEL) B=$B/valgrind CFLAGS='-O1 -g -DSIM_PROCESSES' all-programs $B/valgrind/sim
	@scripts/vocab
	@B=$B/valgrind KAFKA=$(KAFKA) scripts/checked valgrind $(patsubst $B/%,$B/valgrind/%,$(TESTS))

nightly: test asan tsan valgrind vectors test-torch test-stores  ## all tests: sanitizers, valgrind, other compilers, PyTorch

wheel: $B/libriffle.so.0  ## the Python package with the library inside, as a wheel in $B/wheels
	@RIFFLE_LIBRARY=$(abspath $B/libriffle.so.0) pip wheel -q --disable-pip-version-check --no-deps -w $B/wheels ./python
	@ls $B/wheels

fuzz:  ## every libFuzzer target for FUZZ_SECONDS (60), under both sanitizers; needs clang
	@$(PARALLEL) B=$B/fuzz CC=clang CFLAGS='-O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined' fuzzers
	@scripts/fuzz $(patsubst $B/%,$B/fuzz/%,$(FUZZERS))

fuzzers: $(FUZZERS)

demo: deps  ## the whole pipeline on real text: produce, mix, train, kill, resume
	@$(PARALLEL) build
	@B=$B scripts/demo

CHAOS = $(PARALLEL) build $B/tests/chaos/clock_jump.so && scripts/venv && scripts/vocab && \
	B=$B KAFKA=$(KAFKA) build/venv/bin/python tests/chaos
chaos: deps  ## three brokers, a mix with a standby, and every fault; SEED=n repeats one, FAULTS=a,b picks
	@$(CHAOS)/chaos.py $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS))

soak: deps  ## MINUTES (30) at full rate with a fault a minute: memory and descriptors stay flat
	@$(CHAOS)/soak.py --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

stuck: deps  ## a trainer that is slow for SLOW (600) seconds, a broker that is dead for DEAD (60)
	@$(CHAOS)/stuck.py --slow $(or $(SLOW),600) --dead $(or $(DEAD),60)

bench: deps  ## rates beside a bare librdkafka loop, memory, 1,024 lanes
	@$(PARALLEL) build
	@B=$B scripts/bench

bench-trainers: deps  ## riffle next to other loaders on the same rows (fetches them: some 3.5 GB)
	@$(PARALLEL) build
	@B=$B scripts/bench-trainers

VECTORS = test_schedule_vectors test_order
vectors:  ## the test vectors with gcc and clang at -O0, -O3 and -march=native: the same everywhere
	@for cc in gcc clang; do for o in -O0 -O3 '-O3 -march=native'; do echo "== $$cc $$o"; \
	    b="$B/vectors/$$cc$$(echo "$$o" | tr -d ' =')"; \
	    $(PARALLEL) CC=$$cc CFLAGS="$$o" B=$$b $(addprefix $$b/tests/unit/common/schedule/,$(VECTORS)) && \
	    scripts/run-tests $(addprefix $$b/tests/unit/common/schedule/,$(VECTORS)) || exit 1; done; done

bench-tokenizer: deps  ## one core beside five other tokenizers, two threads, and from a file to Kafka
	@$(PARALLEL) build
	@B=$B scripts/bench-tokenizer

check: layers format-check  ## layers, format, generated documents, warnings, static analysis
	@B=$B scripts/check

layers: export COMPILE_COMMAND = $(COMPILE)
layers:  ## fail where a file sees what docs/rooms.txt does not allow its room
	@scripts/layers

format-check:  ## fail where clang-format would change a file
	@clang-format --dry-run -Werror $(SOURCES)

install: build  ## program, library, header and pkg-config file under $(DESTDIR)$(prefix)
	@DESTDIR=$(DESTDIR) bindir=$(bindir) libdir=$(libdir) includedir=$(includedir) prefix=$(prefix) \
	    scripts/install $B $(VERSION)

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build all-programs deps unit sim asan tsan valgrind test test-torch test-stores nightly wheel demo chaos soak stuck bench bench-trainers vectors check \
	layers format-check install help fuzz fuzzers bench-tokenizer
.SECONDARY:
-include $(patsubst %.c,$B/%.d,$(filter %.c,$(SOURCES))) $B/gen/schema_text.d
