# heddle - build, test and install
#
#   make            build the command, the libraries and the Lua module
#   make demo       install what is missing, build, run the main job
#   make check      install what is missing, build, run all tests
#   make bench      measure speed and memory (takes minutes)
#   make install    into $(DESTDIR)$(PREFIX)
#   make clean      remove build/
#
# Variables: CC CFLAGS CPPFLAGS LDFLAGS LDLIBS PREFIX DESTDIR V=1
#   SANITIZER=address|undefined   a build of its own, in build/<variant>/
#   VARIANT=debug                 -O0 with assertions

# ---- settings ---------------------------------------------------------
PREFIX  ?= /usr/local
CC      ?= cc
CFLAGS  ?= -O3 -g
WARN     = -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla

# ---- no need to change anything below this line ------------------------
SANITIZER ?=
VARIANT ?= $(if $(SANITIZER),$(SANITIZER),release)
B := build/$(VARIANT)
PC_PACKAGES = lua5.4 libzstd liblzma libxxhash
pc = $(shell pkg-config $(1) $(PC_PACKAGES) 2>/dev/null)

ALL_CFLAGS = -std=c11 $(WARN) $(CFLAGS) -fPIC -fvisibility=hidden -ffp-contract=off
ALL_CPPFLAGS = -D_POSIX_C_SOURCE=200809L $(CPPFLAGS) $(call pc,--cflags)
ALL_LDLIBS = $(LDLIBS) $(call pc,--libs) -lm
ifneq ($(SANITIZER),)
ALL_CFLAGS += -fsanitize=$(SANITIZER) -fno-sanitize-recover=all -O1 -DHD_DEBUG
LDFLAGS += -fsanitize=$(SANITIZER)
endif
ifeq ($(VARIANT),debug)
ALL_CFLAGS += -O0 -DHD_DEBUG
endif

FLOORS = base core mem vm gpu load policy part
LIB_SRC := $(sort $(wildcard src/*.c $(FLOORS:%=src/%/*.c)))
LIB_OBJ := $(LIB_SRC:src/%.c=$(B)/%.o)
LUA_SRC := $(sort $(wildcard src/lua/*.c))
LUA_OBJ := $(LUA_SRC:src/%.c=$(B)/%.o)
CLI_SRC := $(sort $(wildcard src/cli/*.c))
CLI_OBJ := $(CLI_SRC:src/%.c=$(B)/%.o)
EMBED   := $(sort $(wildcard lua/heddle/*.lua lua/heddle/*/*.lua))
TEST_C  := $(sort $(wildcard t/*.c))
TEST_BIN:= $(TEST_C:t/%.c=$(B)/t/%)
BENCH_C := $(sort $(wildcard bench/*.c))
BENCH_BIN := $(BENCH_C:bench/%.c=$(B)/bench/%)

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

all: $(B)/libheddle.a

$(B)/libheddle.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcsD $@ $^

$(B)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# One cmocka group a binary: TAP on standard output.
$(B)/t/%: t/%.c $(B)/libheddle.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Isrc -MMD -MP -o $@ $< $(LDFLAGS) \
	    $(B)/libheddle.a -lcmocka $(ALL_LDLIBS)

$(B)/bench/%: bench/%.c $(B)/libheddle.a
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Isrc -MMD -MP -o $@ $< $(LDFLAGS) \
	    $(B)/libheddle.a $(ALL_LDLIBS)

tests: $(TEST_BIN)

clean:
	rm -rf build

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

-include $(LIB_OBJ:.o=.d) $(LUA_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
-include $(TEST_BIN:=.d) $(BENCH_BIN:=.d)
.PHONY: all tests clean help
