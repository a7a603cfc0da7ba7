# heddle - build, test and install
#
#   make            build the command, the libraries and the Lua module
#   make demo       install what is missing, build, run the main job
#   make check      install what is missing, build, run all tests
#   make test       the same and install nothing; TESTS="t/7*" only some
#   make soak       random and paired policies under the check, for long
#   make validate   microbenchmarks of real cards beside what was measured (minutes)
#   make bench      measure speed and memory, beside the goals (minutes)
#   make bench-instructions
#                   the same, small, in instructions, which callgrind counts:
#                   AGAINST=REVISION beside another commit
#   make install    into $(DESTDIR)$(PREFIX); make uninstall
#   make check-slurm
#                   the tests on a real Slurm, which it installs
#   make check-pages
#                   pages in a browser, which it installs
#   make html       the manual as linked pages, in build/html/
#   make dist       build/heddle-VERSION.tar.gz, of what is committed
#   make deb        packages for Debian of that, in build/deb/
#   make release-notes
#                   what CHANGES.md says of this version, or of RELEASE=
#   make tests      build the tests only; then: prove -v --exec t/run t/700*
#   make path       the functions that a cold load runs, by file, and their lines
#   make mutate     small faults put into the engine: which does no test see?
#                   MUTATE="seed=2 count=20 area=paging tests=all"; an hour
#   make fuzz       fuzz the readers, FUZZ_SECONDS=60 each, with clang
#   make lint       luacheck, shell and man page checks
#   make clean      remove build/
#
# Variables: CC CFLAGS CPPFLAGS LDFLAGS LDLIBS PREFIX DESTDIR V=1
#   BINDIR LIBDIR INCLUDEDIR MANDIR DATADIR LUACDIR BASHDIR ZSHDIR FISHDIR
#   SANITIZER=address|undefined|address,undefined
#                                 a build of its own, in build/<variant>/
#   CC=clang                      in build/<variant>-clang/
#   VARIANT=debug                 -O0 with assertions, in build/debug/
#   FAST=0                        without memory/fast/, in build/<variant>-slow/

# ---- settings ---------------------------------------------------------
PREFIX  ?= /usr/local
CC      ?= cc
CFLAGS  ?= -O3 -g
WARN     = -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla

BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DATADIR    ?= $(PREFIX)/share/heddle
LUACDIR    ?= $(LIBDIR)/lua/5.4
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d

# ---- no need to change anything below this line ------------------------
SANITIZER ?=
comma := ,
CLANG := $(if $(findstring clang,$(CC)),-clang)
VARIANT ?= $(or $(subst $(comma),-,$(SANITIZER)),release)$(CLANG)
FAST ?= 1
override FAST := $(filter-out 0,$(FAST))
B := build/$(VARIANT)$(if $(FAST),,-slow)
VERSION := $(shell sed -n 's/^.define HEDDLE_VERSION "\(.*\)"/\1/p' src/engine/heddle.h)
PC_LIB = libzstd liblzma libxxhash
PC_LUA = lua5.4
PC_SQL = sqlite3
pc = $(shell pkg-config $(1) $(2) 2>/dev/null)
# Line editing in the REPL; without libedit it reads plain lines.
EDIT := $(shell pkg-config --exists libedit 2>/dev/null && echo libedit)

# Neighbours that are counted together are not made a vector: whoever reads one
# of them soon after would wait for the whole.
TUNE = -fno-tree-slp-vectorize

ALL_CFLAGS = -std=c11 $(WARN) $(TUNE) $(CFLAGS) -fPIC -fvisibility=hidden -ffp-contract=off -pthread
ALL_CPPFLAGS := -D_POSIX_C_SOURCE=200809L $(CPPFLAGS) \
                $(call pc,--cflags,$(PC_LIB) $(PC_LUA) $(PC_SQL) $(EDIT)) \
                $(if $(EDIT),-DHL_LIBEDIT) -DHD_FAST=$(if $(FAST),1,0)
LIB_LIBS   := $(LDLIBS) $(call pc,--libs,$(PC_LIB)) -lm -pthread
LUA_LIBS   := $(call pc,--libs,$(PC_LUA))
SQL_LIBS   := $(call pc,--libs,$(PC_SQL))
EDIT_LIBS  := $(if $(EDIT),$(call pc,--libs,libedit))
ALL_LDLIBS  = $(LIB_LIBS) $(LUA_LIBS) $(SQL_LIBS)
ifneq ($(SANITIZER),)
ALL_CFLAGS += -fsanitize=$(SANITIZER) -fno-sanitize-recover=all -O1 -DHD_DEBUG
LDFLAGS += -fsanitize=$(SANITIZER)
endif
ifeq ($(VARIANT),fuzz)
ALL_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined \
              -fno-sanitize-recover=all -O1 -DHD_DEBUG
LDFLAGS += -fsanitize=address,undefined
endif
ifeq ($(VARIANT),coverage)
ALL_CFLAGS += -O0 --coverage -DHD_COVERAGE
LDFLAGS += --coverage
endif
ifeq ($(VARIANT),debug)
ALL_CFLAGS += -O0 -DHD_DEBUG
endif

# Three libraries, each of which sees those before it (CONTRIBUTING.md): the
# engine, with the policies in C on its public header alone; where instructions
# come from; what people use it through.
sources = $(sort $(wildcard $(1:%=src/%/*.c) $(1:%=src/%/*/*.c)))
objects = $(patsubst src/%.c,$(B)/%.o,$(1))
FAST_SRC   := $(if $(FAST),$(wildcard src/engine/memory/fast/*.c))
ENGINE_OBJ := $(call objects,$(call sources,engine policies) $(FAST_SRC))
WORK_OBJ   := $(call objects,$(call sources,work))
CLI_SRC    := $(sort $(wildcard src/shell/command/*.c))
CLI_OBJ    := $(call objects,$(CLI_SRC))
SHELL_SRC  := $(filter-out $(CLI_SRC),$(call sources,shell))
SHELL_OBJ  := $(call objects,$(SHELL_SRC))
LIB_OBJ    := $(ENGINE_OBJ) $(WORK_OBJ)
EMBED   := $(sort $(wildcard lua/heddle/*.lua lua/heddle/*/*.lua \
             lua/heddle/*/*/*.lua lua/heddle/tools/web/*.css \
             lua/heddle/tools/web/*.js policies/*.lua))
TEST_C  := $(sort $(wildcard t/*.c))
TEST_BIN:= $(TEST_C:t/%.c=$(B)/t/%)
BENCH_C := $(sort $(wildcard bench/*.c))
BENCH_BIN := $(BENCH_C:bench/%.c=$(B)/bench/%)
BENCH_PARTS = assoc dram l2 vm lanes trace engine

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

BIN    := $(B)/heddle
ENGINE := $(B)/libheddle-engine.a
WORK   := $(B)/libheddle-work.a
FRONT  := $(B)/libheddle-shell.a
STATIC := $(B)/libheddle.a
SHARED := $(B)/libheddle.so.0
MODULE := $(B)/heddle.so
# All of both libraries, for plug-ins to find their functions.
WHOLE  = -Wl,--whole-archive $(STATIC) -Wl,--no-whole-archive

all: $(STATIC) $(SHARED) $(BIN) $(MODULE)

# Objects depend on the options they were built with.
OPTIONS = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) $(LDLIBS)
$(B)/options: always
	@mkdir -p $(@D)
	@echo '$(OPTIONS)' | cmp -s - $@ || echo '$(OPTIONS)' >$@

# What points.def, notes.def and words.def say, as a plain header: written where
# it differs, and committed, for those who compile against a checkout.
POINTS := src/engine/points.h
$(B)/points.stamp: src/dev/points-header $(wildcard src/engine/*.def)
	@mkdir -p $(@D)
	@CC='$(CC)' src/dev/points-header $(POINTS)
	@touch $@
$(POINTS): $(B)/points.stamp ;

# So do the libraries: a source that went away must leave them.
$(B)/lib.list: always
	@mkdir -p $(@D)
	@echo '$(LIB_OBJ) $(SHELL_OBJ)' | cmp -s - $@ || \
	    echo '$(LIB_OBJ) $(SHELL_OBJ)' >$@

$(ENGINE): $(ENGINE_OBJ)
$(WORK): $(WORK_OBJ)
$(FRONT): $(SHELL_OBJ) $(B)/embed.o
# For embedders, engine and work in one.
$(STATIC): $(LIB_OBJ)
$(ENGINE) $(WORK) $(FRONT) $(STATIC): $(B)/lib.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcsD $@ $(filter %.o,$^)

$(SHARED): $(LIB_OBJ) src/libheddle.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libheddle.so.0 $(LDFLAGS) -o $@ \
	    -Wl,--version-script=src/libheddle.map $(LIB_OBJ) $(LIB_LIBS)

$(BIN): $(CLI_OBJ) $(SHELL_OBJ) $(B)/embed_cli.o $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,-E -o $@ $(filter %.o,$^) $(WHOLE) \
	    $(ALL_LDLIBS) $(EDIT_LIBS) -ldl

$(MODULE): $(SHELL_OBJ) $(B)/embed.o $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -o $@ $(filter %.o,$^) $(WHOLE) $(LIB_LIBS) \
	    $(SQL_LIBS)

# The Lua half, as C arrays, and what pages are made of.  The list of files is
# part of what it holds.
$(B)/embed.list: always
	@mkdir -p $(@D)
	@echo '$(EMBED)' | cmp -s - $@ || echo '$(EMBED)' >$@

$(B)/embed.c: src/dev/embed $(B)/embed.list $(EMBED) $(SHELL_SRC) $(CLI_SRC)
	$(call say,EMBED,$@)
	$(Q)src/dev/embed $@ $(EMBED)

$(B)/embed.o: $(B)/embed.c $(B)/options
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SEES_ALL) -c -o $@ $<

$(B)/embed_cli.o: $(B)/embed.c $(B)/options
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DHL_CLI $(SEES_ALL) -c -o $@ $<

# What each library can include, beside its own folder.
SEES_ENGINE = -Isrc/engine
SEES_WORK   = $(SEES_ENGINE) -Isrc/work
SEES_ALL    = $(SEES_WORK) -Isrc/shell
$(B)/engine/%.o $(B)/policies/%.o: SEES = $(SEES_ENGINE)
$(B)/work/%.o: SEES = $(SEES_WORK)
$(B)/shell/%.o: SEES = $(SEES_ALL)

$(B)/%.o: src/%.c Makefile $(B)/options | $(POINTS)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SEES) -MMD -MP -c -o $@ $<

# One cmocka group a binary: TAP on standard output.  A test links the least of
# the libraries that it needs, the engine alone but for these, and sees no more.
WORK_TESTS = 214-vm-thrash 400-load-generate 402-program-verify 403-vm-twin \
    404-vm-issue 405-vm-life 406-vm-compact 421-load-functional \
    423-load-survey 450-trace-text 451-trace-traps 452-trace-frame \
    453-trace-container 454-trace-source 455-trace-list 456-trace-record \
    457-trace-samples 458-trace-scan 460-tracez 470-work 473-work-rules \
    809-calls 815-borders
SHELL_TESTS = 156-part-dram 160-part-tags 520-policy-lua 525-policy-sandbox \
    530-policy-twins 607-locale 811-snapshot-life 812-no-memory 940-fuzz
links = $(strip $(if $(filter $(1),$(SHELL_TESTS)),ALL,$(if $(filter \
    $(1),$(WORK_TESTS)),WORK,ENGINE)))
LINKS_ENGINE = $(ENGINE)
LINKS_WORK   = $(WORK) $(ENGINE)
LINKS_ALL    = $(FRONT) $(WORK) $(ENGINE)
.PRECIOUS: $(B)/t/%.o
$(B)/t/%.o: t/%.c Makefile $(B)/options | $(POINTS)
	@mkdir -p $(@D)
	$(call say,TEST,$(@:.o=))
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SEES_$(call links,$*)) -MMD -MP \
	    -c -o $@ $<

$(B)/t/%: $(B)/t/%.o $(ENGINE) $(WORK) $(FRONT)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LINKS_$(call links,$*)) \
	    -lcmocka $(ALL_LDLIBS)

$(B)/t/940-fuzz: $(B)/embed.o

$(B)/bench/%: bench/%.c $(ENGINE) $(WORK) $(FRONT)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SEES_ALL) -MMD -MP -o $@ $< $(LDFLAGS) \
	    $(FRONT) $(WORK) $(ENGINE) $(ALL_LDLIBS)

tests: $(TEST_BIN)

# Tests at once, a file each, none of which waits for another; and what the first
# two commands of a new machine compile at once, unless -j says it.
JOBS = $(shell n=$$(nproc); echo $$((n < 8 ? n : 8)))
AT_ONCE = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

# ---- the commands of the README ---------------------------------------
DEMO = scenarios/tlb-contention.lua

demo:
	@src/dev/deps build
	@$(MAKE) $(AT_ONCE) --no-print-directory all
	@mkdir -p out
	$(BIN) run $(DEMO)

# What was measured on cards beside heddle; VALIDATE="scale=full jobs=16".
VALIDATE ?=
validate: all
	@mkdir -p out
	$(BIN) run scenarios/validate.lua $(VALIDATE)

TESTS_SCRIPT := $(sort $(wildcard t/*.lua t/*.t))
# Half of the time is these, the longest first: none is waited for at the end.
LONGEST := $(wildcard $(patsubst %,t/%-*,821 734 420 853 738 733 736 760 823 432 739 775 814 572 752 761))
TESTS ?= $(LONGEST) $(filter-out $(LONGEST),$(TEST_BIN) $(TESTS_SCRIPT))

check:
	@src/dev/deps check
	@$(MAKE) $(AT_ONCE) --no-print-directory test

# A list of what is skipped, for the last line.
SKIPPED = $(B)/skipped

# What packages run: it reaches for no network and no rights.
test: all tests
	@rm -f $(SKIPPED)
	@HEDDLE_BUILD=$(B) HEDDLE_SKIPPED=$(SKIPPED) prove -j $(JOBS) --exec t/run $(TESTS); \
	    status=$$?; test ! -s $(SKIPPED) || sort $(SKIPPED) | \
	    awk '{ all = all (NR > 1 ? "; " : "") $$0 } END { print "Skipped: " all }'; \
	    exit $$status

# Series on a real Slurm, which is installed; as root, in a container.
check-slurm:
	@src/dev/deps slurm
	@$(MAKE) $(AT_ONCE) --no-print-directory all
	@SLURM_TESTS=yes HEDDLE_BUILD=$(B) prove -v --exec t/run t/722-slurm.lua

# The pages in a browser of a telephone's width and of a screen's, which is installed;
# without one these tests read their text alone.
PAGES_TESTS = t/729-view.t t/731-view-follow.t t/779-pages.t
check-pages:
	@src/dev/deps check
	@src/dev/deps pages
	@$(MAKE) $(AT_ONCE) --no-print-directory all
	@HEDDLE_BUILD=$(B) prove --exec t/run $(PAGES_TESTS)

# What `make check` does a little of: all pairs of policies on all presets, and
# answers and faults at random.  SOAK_SEEDS=2,3 draws others.
SOAK_SEEDS ?= 1
soak: all
	@$(BIN) run t/853-pairs.lua presets=all cycles=20000 seeds=$(SOAK_SEEDS)
	@for s in $$(echo $(SOAK_SEEDS) | tr , ' '); do \
	    $(BIN) run t/851-answers.lua n=90 seed=$$s && \
	    $(BIN) run t/913-faults.lua faults=100000 seed=$$s || exit 1; done

# What is promised about speed and memory, measured: a table, and
# out/bench.json.  What the rows mean is said in bench/summary.lua.
bench: all $(BENCH_BIN)
	@mkdir -p out
	@$(BIN) run bench/summary.lua build=$(B)

# Needs valgrind.
AGAINST ?=
bench-instructions: all $(B)/bench/engine
	@mkdir -p out
	@$(BIN) run bench/instructions.lua build=$(B) jobs=$(JOBS) \
	    'against=$(AGAINST)'

# The parts alone, in more detail.
bench-parts: $(BENCH_BIN)
	@for b in $(BENCH_PARTS:%=$(B)/bench/%); do \
	    echo "== $$b"; $$b || exit 1; done

# Small faults in the engine, one at a time, and which tests see them.
mutate: all tests
	@env -u MAKEFLAGS -u MAKELEVEL CC='$(CC)' CFLAGS='$(CFLAGS)' \
	    VARIANT=$(VARIANT) SANITIZER=$(SANITIZER) src/dev/mutate $(MUTATE)

# The way of a load that misses everywhere, by gcc's counters.
path:
	@$(MAKE) --no-print-directory VARIANT=coverage build/coverage/bench/path
	@find build/coverage -name '*.gcda' -delete
	@build/coverage/bench/path
	@src/dev/path build/coverage

SPDX = $(wildcard $(foreach d,src/* src/*/* src/*/*/*,$d/*.[ch] $d/*.def) src/dev/* \
    src/dev/*/* t/*.[ch] t/*/*.h t/*.t t/run bench/*.[ch] man/*.[1-9] man/gallery/*.lua \
    $(foreach d,lua/heddle t bench policies scenarios,$(d)/*.lua $(d)/*/*.lua) \
    lua/heddle/*/*/*.lua lua/heddle/*/*/*.css lua/heddle/*/*/*.js) \
    $(wildcard src/shell/python/*.* src/shell/python/*/*.py t/python/*.py)
lint:
	@if grep -L -d skip 'SPDX-License-Identifier: MIT' $(SPDX) | grep .; \
	    then echo "lint: no licence line" >&2; exit 1; fi
	luacheck -q $(wildcard lua/heddle scenarios policies t bench man/gallery src/dev/html)
	@if command -v shellcheck >/dev/null; then \
	    shellcheck .ci/run .ci/container .ci/chroot src/dev/deps src/dev/embed src/dev/points-header src/dev/slurm src/dev/environment \
	    src/dev/html/make src/dev/package/chroot src/dev/release-notes t/run src/shell/command/completion/*.bash; fi
	@if command -v mandoc >/dev/null; then for m in $(wildcard man/*.[1-9]); do \
	    mandoc -T lint -W warning $$m || exit 1; done; fi
	@if command -v clang-format >/dev/null; then \
	    clang-format --dry-run $(wildcard src/*/*.[ch] src/*/*/*.[ch] t/*.[ch] \
	    bench/*.[ch]) 2>&1 | sed -n 's/:[0-9]*:[0-9]*: .*//p' \
	    | sort | uniq -c; fi

# The readers, fuzzed one after the other; what breaks one stays in build/fuzz.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $$($(FUZZ)/t/940-fuzz names)
FUZZ = build/fuzz
fuzz:
	@command -v clang >/dev/null || { echo "make fuzz wants clang" >&2; exit 1; }
	@$(MAKE) --no-print-directory VARIANT=fuzz CC=clang SANITIZER= \
	    $(FUZZ)/t/940-fuzz $(FUZZ)/fuzz
	@export CMOCKA_TEST_ABORT=1; for t in $(FUZZ_TARGETS); do \
	    c=$(FUZZ)/corpus/$$t; mkdir -p $$c; \
	    $(FUZZ)/t/940-fuzz seeds $$t $$c || exit 1; echo "== $$t"; \
	    HEDDLE_FUZZ=$$t $(FUZZ)/fuzz -max_total_time=$(FUZZ_SECONDS) \
	    -verbosity=0 -timeout=30 -max_len=8192 \
	    -artifact_prefix=$(FUZZ)/$$t- $$c || exit 1; done

$(FUZZ)/fuzz: t/940-fuzz.c $(B)/embed.o $(ENGINE) $(WORK) $(FRONT)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DHD_LIBFUZZER $(SEES_ALL) -MMD -MP -o $@ \
	    $< -fsanitize=fuzzer $(LDFLAGS) $(filter %.o,$^) \
	    $(FRONT) $(WORK) $(ENGINE) -lcmocka $(ALL_LDLIBS)

# ---- install ----------------------------------------------------------
HEADERS = $(addprefix src/engine/,heddle.h policy.h points.h) \
          $(addprefix src/work/,heddle_work.h heddle_program.h)
MANPAGES = $(wildcard man/*.[1-9])
SCENARIO_DIRS = scenarios $(sort $(patsubst %/,%,$(dir \
                $(wildcard scenarios/*/*))))
COMPLETE = src/shell/command/completion
# A folder below DESTDIR, which may have spaces, as one word of the shell.
at = '$(subst ','\'',$(DESTDIR)$(1))'
# And as heddle.pc writes it, in the words of sed.
space := $(subst ,, )
escaped = $(subst &,\&,$(subst $(space),\\ ,$(1)))

install: install-command install-library
	$(if $(DESTDIR),,@src/dev/environment $(call at,$(BINDIR)) \
	    $(call at,$(MANDIR)) $(call at,$(LIBDIR)) $(call at,$(LUACDIR)))

# For those who write Lua: the command, the module, what both and editors read; and
# the Python package, which is files alone.
$(B)/heddle.luals: $(BIN) src/dev/luals.lua man/heddle_lua.3
	$(call say,LUALS,$@)
	$(Q)$(BIN) run src/dev/luals.lua >$@.tmp && mv $@.tmp $@

install-command: all $(B)/heddle.luals
	install -d $(call at,$(BINDIR)) $(call at,$(LUACDIR)) \
	    $(call at,$(DATADIR)/policies) $(call at,$(DATADIR)/luals) \
	    $(foreach d,$(SCENARIO_DIRS),$(call at,$(DATADIR)/$d)) \
	    $(call at,$(DATADIR)/python/heddle) \
	    $(call at,$(BASHDIR)) $(call at,$(ZSHDIR)) $(call at,$(FISHDIR))
	install -m 755 $(BIN) $(call at,$(BINDIR))
	install -m 755 $(MODULE) $(call at,$(LUACDIR))
	for f in $(wildcard scenarios/*.lua scenarios/*.c scenarios/*/*); do \
	    install -m 644 $$f $(call at,$(DATADIR))/$$f || exit 1; done
	install -m 644 $(wildcard policies/*.lua policies/*.c) \
	    $(call at,$(DATADIR)/policies)
	install -m 644 $(B)/heddle.luals $(call at,$(DATADIR)/luals/heddle.lua)
	install -m 644 $(wildcard src/shell/python/*.*) man/heddle.ipynb \
	    $(call at,$(DATADIR)/python)
	install -m 644 $(wildcard src/shell/python/heddle/*.py) \
	    $(call at,$(DATADIR)/python/heddle)
	install -m 644 $(COMPLETE)/heddle.bash $(call at,$(BASHDIR)/heddle)
	install -m 644 $(COMPLETE)/_heddle $(call at,$(ZSHDIR))
	install -m 644 $(COMPLETE)/heddle.fish $(call at,$(FISHDIR))
	for m in $(MANPAGES); do d=$(call at,$(MANDIR))/man$${m##*.}; \
	    install -d "$$d" && install -m 644 $$m "$$d" || exit 1; done

# For those who write C: the libraries and their headers.
install-library: all
	install -d $(call at,$(LIBDIR)/pkgconfig) $(call at,$(INCLUDEDIR)/heddle)
	install -m 644 $(STATIC) $(call at,$(LIBDIR))
	install -m 755 $(SHARED) $(call at,$(LIBDIR))
	ln -sf libheddle.so.0 $(call at,$(LIBDIR)/libheddle.so)
	install -m 644 $(HEADERS) $(call at,$(INCLUDEDIR)/heddle)
	sed -e 's,@PREFIX@,$(call escaped,$(PREFIX)),' \
	    -e 's,@LIBDIR@,$(call escaped,$(LIBDIR)),' \
	    -e 's,@INCLUDEDIR@,$(call escaped,$(INCLUDEDIR)),' \
	    -e 's,@VERSION@,$(VERSION),' \
	    src/heddle.pc.in >$(call at,$(LIBDIR)/pkgconfig/heddle.pc)

uninstall:
	rm -f $(call at,$(BINDIR)/heddle) $(call at,$(LUACDIR)/heddle.so)
	rm -f $(call at,$(LIBDIR)/libheddle.a) $(call at,$(LIBDIR))/libheddle.so*
	rm -f $(call at,$(LIBDIR)/pkgconfig/heddle.pc)
	rm -rf $(call at,$(INCLUDEDIR)/heddle) $(call at,$(DATADIR))
	rm -f $(call at,$(BASHDIR)/heddle) $(call at,$(ZSHDIR)/_heddle)
	rm -f $(call at,$(FISHDIR)/heddle.fish)
	for m in $(notdir $(MANPAGES)); do \
	    rm -f $(call at,$(MANDIR))/man$${m##*.}/$$m; done

# ---- the manual, for browsers ------------------------------------------
html: $(BIN)
	@HEDDLE=$(BIN) src/dev/html/make build/html
	$(call say,HTML,build/html/index.html)

# ---- packages ---------------------------------------------------------
# What is committed, in a folder of one name; the same commit gives the same
# bytes wherever it is packed.
DIST = heddle-$(VERSION)
TARBALL = build/$(DIST).tar.gz
dist:
	@mkdir -p build
	@git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ HEAD \
	    >build/$(DIST).tar
	@gzip -9nf build/$(DIST).tar
	$(call say,DIST,$(TARBALL))

# Debian wants its folder at the top, which a tree that is not only Debian's
# keeps below src/dev/package: it goes there in a copy.  DEBUILD=-S builds the
# source package only.
DEBUILD ?=
deb: dist
	@rm -rf build/deb && mkdir -p build/deb
	@cp $(TARBALL) build/deb/heddle_$(VERSION).orig.tar.gz
	@tar -C build/deb -xzf $(TARBALL)
	@cp -R build/deb/$(DIST)/src/dev/package/debian build/deb/$(DIST)
	@cd build/deb/$(DIST) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
	    dpkg-buildpackage -us -uc $(DEBUILD)
	@ls build/deb/*_*

# The text of a release.
RELEASE ?= $(VERSION)
release-notes:
	@src/dev/release-notes '$(RELEASE)'

clean:
	rm -rf build

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

-include $(LIB_OBJ:.o=.d) $(SHELL_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
-include $(TEST_BIN:=.d) $(BENCH_BIN:=.d) $(FUZZ)/fuzz.d
.PHONY: all tests demo validate check check-slurm check-pages test soak bench bench-instructions \
    bench-parts fuzz lint mutate path install install-command install-library \
    uninstall html dist deb release-notes clean help always
