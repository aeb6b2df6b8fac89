# riffle. Everything that is built goes under $B; `make help` lists the targets.
B        ?= build
prefix   ?= /usr/local
bindir   ?= $(prefix)/bin
libdir   ?= $(prefix)/lib
includedir ?= $(prefix)/include
VERSION  := 0.1.0
CFLAGS   ?= -O2 -g
PACKAGES := rdkafka avro-c yaml-0.1 libzstd zlib jansson libxxhash

OURS    := -std=c11 -D_GNU_SOURCE -DRIFFLE_VERSION='"$(VERSION)"' -I. -fPIC -pthread -fvisibility=hidden \
	-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wvla -Wstrict-prototypes \
	$(if $(CI),-Werror)
COMPILE  = $(CC) $(OURS) $(shell pkg-config --cflags $(PACKAGES)) $(CPPFLAGS) $(CFLAGS)
LIBS     = $(shell pkg-config --libs $(PACKAGES)) -lm
LINK     = $(CC) -pthread $(CFLAGS) $(LDFLAGS)

objects  = $(patsubst %.c,$B/%.o,$(wildcard $(addsuffix /*.c,$1)))
CORE    := $(call objects,common producer producer/tokenizer consumer) $B/gen/schema_text.o
TESTS   := $(patsubst %.c,$B/%,$(wildcard tests/unit/test_*.c))

build: $B/riffle  ## compile the program and the library

$B/riffle: $(call objects,cli) $B/core.a
	$(LINK) -o $@ $^ $(LIBS)

$B/core.a: $(CORE)
	@rm -f $@
	$(AR) rcs $@ $^

$B/gen/schema_text.c: $(wildcard schemas/*.avsc) scripts/embed-schemas
	@mkdir -p $(@D)
	scripts/embed-schemas schemas > $@

$B/gen/%.o: $B/gen/%.c
	$(COMPILE) -MMD -MP -c -o $@ $<

$B/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

$B/tests/unit/%: $B/tests/unit/%.o $B/core.a
	$(LINK) -o $@ $^ $(LIBS) -lcmocka

unit: $(TESTS)  ## run every unit test; needs no broker
	@scripts/run-tests $^

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build unit help
.SECONDARY:
-include $(shell find $B -name '*.d' 2>/dev/null)
