# The tests and what runs them: included by the Makefile.
#
#	make check                          everything, short: a few minutes
#	make check SAN=address,undefined    the same under the sanitizers; a leak fails it
#	make check-units SAN=thread         what needs no mount, for races
#	make check T='tests/mount/real_*.t' only these
#	make check HELPER=off SHELL_KIND=dash
#	make check AGAIN=1                  what fails beside the others decides alone (tests/support/prove-tests)
#	make check PROVIDER=e2b             in sandboxes of E2B's test server, or one test: T=e2b:tests/mount/real_git.t
#	make oracle ORACLE_OPS=100000 ORACLE_SEED=7 HELPER=process
#	make stress STRESS_SECONDS=600
#	make check-all                      all of it at length: the better part of an hour

.SECONDEXPANSION:

JOBS           ?= $(shell nproc)
ORACLE_SEED    ?= 1
ORACLE_SEEDS   ?= 2
ORACLE_OPS     ?= 10000
STRESS_SECONDS ?= 8
MIXING_ROUNDS  ?= 300

# ---- Criterion's programs, one for each layer ----------------------------------------------------

TEST_LAYERS := $(foreach l,providers http $(VENDORS) cache fs tools,$(if $(wildcard tests/$l/*.c),$l))

$(foreach l,http $(VENDORS),$(eval LIBS_$l = $$(LIBS_providers)) $(eval EXT_$l = $$(EXT_providers)))
# Without the programs' own main functions.
TESTED_tools = $(call obj,$(SRC_tools) $(SRC_ctl))
LIBS_tools   = $(LIBS_fs)
EXT_tools    = $(EXT_ctl)

define layer_test
$B/test-$(1): $$$$(call obj,$$(wildcard tests/$(1)/*.c tests/support/*.c)) $$$$(TESTED_$(1)) $$$$(LIBS_$(1))
	$$(call say,LD,$$@)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$^ -lcriterion $$(EXT_$(1))
endef
$(foreach l,$(TEST_LAYERS),$(eval $(call layer_test,$l)))

# ---- Programs that the scripts of tests/mount run -------------------------------------------------

TEST_PROGRAMS := oracle posix stress relay differences
TEST_BIN      := $B/tests/bin

LIBS_differences = $(LIBS_fs)
EXT_differences  = $(EXT_fs)

define test_program
$(TEST_BIN)/$(1): $$$$(call obj,$$(wildcard tests/$(1)/*.c)) $$$$(LIBS_$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$^ $$(EXT_$(1))
endef
$(foreach p,$(TEST_PROGRAMS),$(eval $(call test_program,$p)))

# Writes the tables of README.md that come from the code; tests/mount/readme.t holds README.md against it.
.PHONY: table
table: $(TEST_BIN)/differences
	$(Q)tests/support/readme-tables write $(abspath $(TEST_BIN))

.PHONY: tests
tests: programs pages test-servers $(TEST_LAYERS:%=$B/test-%) $(TEST_PROGRAMS:%=$(TEST_BIN)/%)

# ---- Running them ----------------------------------------------------------------------------------

# Again with each vendor's sandboxes (tests/support/run-test), as many as a few minutes allow: what a vendor has of its own
# shows in the first few, and the first vendor runs more of what they share.
VENDOR_TESTS := ctl_copy ctl_create ctl_exec ctl_life ctl_list ctl_run ctl_url ctl_with exec jobs oracle ports posix real_git vendor_faults vendor_key
SHARED_TESTS := after_exec events hostile mixing real_builds real_editors staging
CONTRACTS    := $(VENDORS) e2b_shell
# A clean Debian is made for these.
ROOT_TESTS   := tests/install/debian.t tests/install/systemd.t
# For check-faults alone.
FAULT_TESTS  := tests/mount/e2b_crash_points.t
# For check-all alone: 200,000 files take half a minute to make and to remove, as does a gigabyte, a Debian takes minutes.
LONG_TESTS   := tests/mount/e2b_many.t tests/mount/e2b_pending_memory.t $(ROOT_TESTS)
T ?= $(TEST_LAYERS:%=$B/test-%) $(CONTRACTS:%=contract:%) $(SHARED_TESTS:%=e2b:tests/mount/%.t) \
	$(filter-out $(LONG_TESTS) $(FAULT_TESTS),$(wildcard tests/mount/*.t tests/install/*.t) $(foreach v,$(VENDORS),$(VENDOR_TESTS:%=$v:tests/mount/%.t)))
# Those that are about one vendor stay out.
ALL_VENDOR_TESTS = $(filter-out $(foreach v,$(VENDORS),$(wildcard tests/mount/$v_*.t)),$(wildcard tests/mount/*.t))

# Ordinary users run some of what writes reports.
REPORTS  = $(abspath $B/reports)
TEST_ENV = AGAIN=$(AGAIN) TEST_PROVIDERS=$(abspath $B/test-providers) VENDORS="$(strip $(VENDORS))" SANDBOXFS=$(abspath $(BIN)/sandboxfs) PROGRAMS=$(abspath $(TEST_BIN)) SAN=$(SAN) \
	PROVIDER=$(or $(PROVIDER),local) HELPER=$(or $(HELPER),auto) SHELL_KIND="$(SHELL_KIND)" MOUNT_OPTS="$(MOUNT_OPTS)" \
	ORACLE_SEED=$(ORACLE_SEED) ORACLE_SEEDS=$(ORACLE_SEEDS) ORACLE_OPS=$(ORACLE_OPS) \
	ORACLE_MORE="$(ORACLE_MORE)" STRESS_SECONDS=$(STRESS_SECONDS) MIXING_ROUNDS=$(MIXING_ROUNDS) \
	ASAN_OPTIONS=log_path=$(REPORTS)/asan:detect_stack_use_after_return=1 \
	LSAN_OPTIONS=log_path=$(REPORTS)/lsan:suppressions=$(abspath tests/support/leaks.supp):print_suppressions=0 \
	UBSAN_OPTIONS=log_path=$(REPORTS)/ubsan:print_stacktrace=1 \
	TSAN_OPTIONS=log_path=$(REPORTS)/tsan:second_deadlock_stack=1

# Thread sanitizers want memory where they expect it. Criterion's runner does not start there: tests/support/plain_runner.c.
TEST_PREFIX = $(if $(filter thread,$(SAN)),setarch --addr-no-randomize)

# $(call run_tests,WHICH): the tests, then whether a sanitizer had something to say.
define run_tests
	$(Q)rm -rf $(REPORTS); mkdir -p -m 1777 $(REPORTS)
	$(Q)status=0; $(TEST_ENV) $(TEST_PREFIX) tests/support/prove-tests $(JOBS) $(1) || status=1; \
	for report in $(REPORTS)/*; do \
		[ ! -s "$$report" ] || { head -n 60 "$$report"; echo "sanitizer report: $$report"; status=1; }; \
	done; \
	if [ $$status = 0 ]; then echo "$@: all passed ($(VARIANT))"; else echo "$@: FAILED ($(VARIANT))"; fi; \
	exit $$status
endef

# Not with tests that were chosen; what is counted does not depend on the compiler.
COUNTS_REQUESTS := $(if $(SAN)$(filter command,$(word 1,$(origin T))),,yes)

.PHONY: check run-tests check-units oracle stress posix
# Makes of their own, because nothing may be compiled before what compiling needs is there.
check:
	$(Q)sh tools/setup.sh build tests
	$(Q)$(MAKE) --no-print-directory run-demo
	$(Q)$(MAKE) --no-print-directory run-tests
	$(if $(COUNTS_REQUESTS),$(Q)$(MAKE) --no-print-directory run-budgets)
	$(Q)$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=5

run-tests: tests check-includes
	$(call run_tests,$T)

# What needs no mount.
check-units: tests check-includes
	$(call run_tests,$(TEST_LAYERS:%=$B/test-%) contract:e2b)

oracle: tests
	$(call run_tests,tests/mount/oracle.t)

stress: tests
	$(call run_tests,tests/mount/stress.t)

posix: tests
	$(call run_tests,tests/mount/posix.t)

# Races in the mount's own process, under the stress program.
.PHONY: check-threads
check-threads:
	$(Q)$(MAKE) --no-print-directory SAN=thread \
		STRESS_SECONDS=$(or $(THREADS_SECONDS),30) stress

# Where a kill could lose a change or make it twice (cache/fault.h).
.PHONY: check-faults
check-faults:
	$(Q)$(MAKE) --no-print-directory FAULTS=1 run-tests T="build/gcc-plain-faults/test-cache $(FAULT_TESTS)"

# The mounts again through each way of working in a sandbox; then under the sanitizers; long traces and a long stress.
.PHONY: check-all
check-all: lint check
	$(Q)$(MAKE) --no-print-directory run-tests T="$(VENDORS:%=contract:%_shell)"
	$(Q)$(MAKE) --no-print-directory oracle ORACLE_OPS=100000
	$(Q)$(MAKE) --no-print-directory run-tests HELPER=process ORACLE_OPS=20000 T="$(wildcard tests/mount/*.t)"
	$(Q)$(MAKE) --no-print-directory run-tests HELPER=off SHELL_KIND=dash T="$(wildcard tests/mount/real_*.t)"
	$(Q)$(MAKE) --no-print-directory oracle HELPER=off SHELL_KIND=dash ORACLE_OPS=20000
	$(Q)$(MAKE) --no-print-directory run-tests MIXING_ROUNDS=10000 T="tests/mount/mixing.t e2b:tests/mount/mixing.t"
	$(Q)for vendor in $(VENDORS); do \
		$(MAKE) --no-print-directory run-tests PROVIDER=$$vendor ORACLE_OPS=20000 STRESS_SECONDS=60 \
			T="$(ALL_VENDOR_TESTS)" || exit; \
	done
	$(Q)sh tools/setup.sh package
	$(Q)$(MAKE) --no-print-directory run-tests T="$(ROOT_TESTS)"
	$(Q)ROUNDS=all $(MAKE) --no-print-directory run-tests T=tests/mount/e2b_fault_works.t
	$(Q)$(MAKE) --no-print-directory run-tests SAN=address,undefined
	$(Q)$(MAKE) --no-print-directory run-tests CC=clang
	$(Q)$(MAKE) --no-print-directory check-faults
	$(Q)$(MAKE) --no-print-directory check-threads
	$(Q)$(MAKE) --no-print-directory check-threads PROVIDER=e2b
	$(Q)$(MAKE) --no-print-directory stress STRESS_SECONDS=600
	$(Q)$(MAKE) --no-print-directory live
	@echo "check-all: all passed"

# ---- What needs no running -------------------------------------------------------------------------

# tools -> fs -> cache -> providers -> providers/base, never upwards; FUSE for fs and tools alone, json-c for codecs.
.PHONY: check-includes
check-includes:
	$(Q)! grep -nE '^#include "(cache|fs|tools|tests)/' -r providers
	$(Q)! grep -nE '^#include "(fs|tools|tests)/' -r cache
	$(Q)! grep -nE '^#include "(tools|tests)/' -r fs
	$(Q)! grep -nE '^#include "tests/' -r tools
	$(Q)! grep -nE '^#include "' -r providers/base | grep -v '"providers/base/'
	$(Q)! grep -nE '^#include "providers/' -r providers/helper | \
		grep -vE '"providers/(base|helper)/|"providers/verbs.h"'
	$(Q)! grep -nE '^#include "providers/' -r providers/http | grep -vE '"providers/(base|http)/'
	$(Q)! grep -nE '^#include <fuse' -r providers cache
	$(Q)! grep -lE '^#include <curl/' -r tools fs cache providers | grep -v '^providers/http'
	$(Q)! grep -lE '^#include <json-c/' -r tools fs cache providers | \
		grep -vE '^providers/(rest[^/]*$$|$(subst $() ,|,$(strip $(VENDORS:%=%/))))'

SOURCES = $(wildcard $(foreach d,tools tools/ctl tools/describe fs cache providers providers/base providers/helper providers/http $(VENDORS:%=providers/%) tests/support tests/live tests/servers/native \
	$(TEST_LAYERS:%=tests/%) $(TEST_PROGRAMS:%=tests/%) tests/fuzz,$d/*.c $d/*.h))

.PHONY: format lint
format:
	clang-format -i $(SOURCES)

# cppcheck reads no system headers, but the macros of this one are declarations.
QUEUE_H := $(firstword $(wildcard /usr/include/*/sys/queue.h /usr/include/sys/queue.h))
lint: check-includes
	$(Q)clang-format --dry-run -Werror $(SOURCES)
	$(Q)cppcheck $(QUEUE_H:%=--include=%) --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem -DHAVE_FUSE_TMPFILE -D_GNU_SOURCE -I. -j$(JOBS) \
		$(filter-out tests/providers/% tests/http/% $(VENDORS:%=tests/%/%) tests/cache/% tests/fs/% tests/tools/% tests/fuzz/%,$(filter %.c,$(SOURCES)))
