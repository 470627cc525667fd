# The tests and what runs them: included by the Makefile. tests/README.md says which run is for what, and how long it takes.

.SECONDEXPANSION:

# Tests wait for round trips and clocks most of their time: several run for each processor, each with 1 GiB of memory.
JOBS           ?= $(shell tests/support/jobs)
# The short form of what may last as long as one likes; check-all gives more.
ORACLE_SEED    ?= 1
ORACLE_SEEDS   ?= 1
ORACLE_OPS     ?= 5000
STRESS_SECONDS ?= 8
MIXING_ROUNDS  ?= 100
MINUTES        ?= 5
HOSTILE_SECONDS ?= 8
# Which lies; the time of day where there is none.
SEED           ?=

# ---- The unit tests' programs, one for each layer ------------------------------------------------
#
# Their assertions are Criterion's, the runner is ours (tests/support/runner.h). What a test calls in a library is looked up
# once, not in each test.

TEST_LAYERS := $(foreach l,providers http $(VENDORS) cache fs tools,$(if $(wildcard tests/$l/*.c),$l))

$(foreach l,http $(VENDORS),$(eval LIBS_$l = $$(LIBS_providers)) $(eval EXT_$l = $$(EXT_providers)))
# Without the programs' own main functions.
TESTED_tools = $(call obj,$(SRC_tools) $(SRC_ctl))
LIBS_tools   = $(LIBS_fs)
EXT_tools    = $(EXT_ctl)

define layer_test
$B/test-$(1): $$$$(call obj,$$(wildcard tests/$(1)/*.c tests/$(1)/*/*.c tests/support/*.c)) $$$$(TESTED_$(1)) $$$$(LIBS_$(1))
	$$(call say,LD,$$@)$$(CC) $$(LDFLAGS_ALL) -Wl,-z,now -o $$@ $$^ -lcriterion $$(EXT_$(1))
endef
$(foreach l,$(TEST_LAYERS),$(eval $(call layer_test,$l)))

# ---- Programs that the scripts of tests/mount run -------------------------------------------------

TEST_PROGRAMS := oracle posix stress relay field
EXT_field      = $(shell $(PKG_CONFIG) --libs json-c)
TEST_BIN      := $B/tests/bin

define test_program
$(TEST_BIN)/$(1): $$$$(call obj,$$(wildcard tests/$(1)/*.c)) $$$$(LIBS_$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$^ $$(EXT_$(1))
endef
$(foreach p,$(TEST_PROGRAMS),$(eval $(call test_program,$p)))

# A mount whose helper lies at random (tests/hostile): sandboxfs, but for the provider that `local:` names.
LIARS := sandboxfs-hostile liar vendor

# The table of providers, which names another in place of `local:`.
$B/tests/hostile/table.o: $B/providers/provider.o
	@mkdir -p $(@D)
	$(Q)objcopy --redefine-sym local_provider=hostile_provider $< $@

$(TEST_BIN)/sandboxfs-hostile: $$(call obj,tests/hostile/provider.c tests/hostile/table.c tools/sandboxfs.c $$(SRC_tools)) \
		$$(LIBS_fs)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_fs)

$(TEST_BIN)/liar: $$(call obj,tests/hostile/liar.c tests/hostile/lies.c) $$(LIBS_providers)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_providers)

$(TEST_BIN)/vendor: $$(call obj,tests/hostile/vendor.c) $$(LIBS_providers)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_providers)

# Delays in the programs that are tested: what is right only on a machine that is not busy shows (make test JITTER=SEED).
JITTER_LIBRARY = $(if $(JITTER),$(TEST_BIN)/jitter.so)

$(TEST_BIN)/jitter.so: tests/jitter/jitter.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -O1 -D_GNU_SOURCE -Wall -Wextra -shared -fPIC -o $@ $<

# Writes the tables of documents that come from figures in the sources; tests/mount/documents.t holds the documents
# against them.
.PHONY: table
table:
	$(Q)python3 -B tests/support/tables.py write

# ---- Which there are -------------------------------------------------------------------------------

# What every change passes (make check): every kind of test in its short form, on every provider.
#
#	1. The units, the contract over every vendor, every vendor's budgets, every parser fuzzed for some seconds.
#	2. The scripts on the embedded sandbox and those about one vendor, but the long ones.
#	3. In each vendor's sandboxes what goes through code of the vendor's own. Of commands the contract shows that.
#	4. What vendors share, in the sandboxes of one: each script has one, each vendor some.
#
# What a release passes (make check-all): the same at length, every script on every vendor, sanitizers, clang.
# Over a program of the user's own all verbs, commands and changes go through one stream: sshd's here, Docker's for check-all.
COMMAND_TESTS := exec events jobs oracle posix
OWN_OF_VENDOR := ctl_create ctl_life ctl_list ctl_url left_behind no_helper ports paused vendor_faults vendor_key answers dead_link skew ctl_taken ctl_live
SHARED_TESTS  := e2b:after_exec e2b:events e2b:exec e2b:hostile e2b:inherited e2b:jobs e2b:known_names e2b:layers e2b:links e2b:lying_links e2b:mixing e2b:noexec e2b:bare e2b:oracle e2b:pid_namespace e2b:real_builds e2b:staging e2b:made_contents e2b:read_only e2b:no_home e2b:edges e2b:remembered e2b:small_save e2b:full_disk e2b:sessions e2b:lazy \
	modal:ctl_run modal:edges modal:remembered modal:small_save runloop:ctl_with runloop:small_save \
	aio:ctl_copy aio:ctl_exec aio:real_editors langsmith:real_git \
	daytona:ctl_copy daytona:full_disk daytona:read_only \
	$(COMMAND_TESTS:%=ssh:%)
CONTRACTS     := $(VENDORS)
# Of the helpers for other processors, under qemu-user: for check-all.
PROCESSORS    := aarch64 armv7l riscv64
# A clean Debian is made for these.
ROOT_TESTS    := tests/install/debian.t tests/install/systemd.t
# For check-faults alone.
FAULT_TESTS   := tests/mount/e2b_crash_points.t
# They open every kind of handle; check-faults runs them again.
HANDLE_TESTS  := tests/mount/events.t tests/mount/exec.t tests/mount/jobs.t tests/mount/stats.t
# Docker is installed for these; they are in the sandboxes of a vendor.
DOCKER_TESTS  := tests/mount/container.t
# Connections and containers in trouble, minutes of it: for check-all, over each.
COMMAND_LONG  := tests/mount/command_faults.t
# For check-all over ssh and docker: what nothing else of theirs has.
OF_PROGRAMS   := $(COMMAND_LONG) tests/mount/e2b_crash.t
# Of programs of the user's own, whose sandboxes they make themselves.
COMMAND_OWN   := tests/mount/ssh.t tests/mount/docker.t tests/mount/podman.t tests/mount/kubernetes.t \
	tests/mount/kubernetes_made.t $(COMMAND_LONG)
# For check-all alone: 200,000 files take half a minute to make and to remove, as does a gigabyte, and hundreds of kubectl; a
# Debian takes minutes.
LONG_TESTS    := tests/mount/e2b_many.t tests/mount/e2b_pending_memory.t tests/mount/kubernetes_made.t $(ROOT_TESTS)
SCRIPTS       := $(filter-out $(LONG_TESTS) $(FAULT_TESTS) $(DOCKER_TESTS) $(COMMAND_LONG) tests/mount/docker.t tests/mount/podman.t,$(wildcard tests/mount/*.t tests/install/*.t))

# A helper and services that lie at random.
HOSTILE_TESTS := tests/hostile/helper.t $(VENDORS:%=%:tests/hostile/vendor.t)
UNITS         := $(TEST_LAYERS:%=unit:%)
CHECKED        = $(UNITS) $(CONTRACTS:%=contract:%) $(VENDORS:%=budgets:%) $(FUZZERS:%=fuzz:%) $(SCRIPTS) \
	tests/hostile/helper.t e2b:tests/hostile/vendor.t daytona:tests/hostile/vendor.t \
	$(foreach v,$(VENDORS),$(OWN_OF_VENDOR:%=$v:tests/mount/%.t)) $(foreach s,$(SHARED_TESTS),$(subst :,:tests/mount/,$s).t)
# They begin first, so that none of them is alone at the end; what counts requests is not beside what fills the processors.
SLOW          := $(VENDORS:%=budgets:%) unit:modal unit:providers unit:cache contract:aio contract:daytona contract:langsmith \
	$(VENDORS:%=%:tests/mount/vendor_key.t) e2b:tests/mount/oracle.t tests/mount/e2b_faults.t \
	$(patsubst %,%:tests/mount/exec.t,ssh e2b)
T             ?= $(SLOW) $(filter-out $(SLOW),$(CHECKED))
# What other compilers and sanitizers repeat: not the fuzzers, which have a compiler and sanitizers of their
# own, nor budgets, which count requests.
COMPILED       = $(filter-out fuzz:% budgets:%,$T)
# Those that are about one vendor stay out.
ALL_VENDOR_TESTS = $(filter-out $(DOCKER_TESTS) $(COMMAND_OWN) $(foreach v,$(VENDORS),$(wildcard tests/mount/$v_*.t)),$(wildcard tests/mount/*.t))
# Their length is given: EDGE_COMMANDS, LAYERS_TRIED, LEVELS, ORACLE_OPS, STRESS_SECONDS, MIXING_ROUNDS, ROUNDS, STATUSES
# and WHOLE.
OF_ANY_LENGTH := tests/mount/ctl_create.t tests/mount/edges.t tests/mount/layers.t tests/mount/mixing.t tests/mount/oracle.t tests/mount/stress.t tests/mount/vendor_faults.t \
	tests/mount/vendor_key.t
# $(call left_of_vendor,VENDOR): what `check` has not run in its sandboxes, or not at length.
left_of_vendor = $(filter-out $(filter-out $(OF_ANY_LENGTH),$(patsubst $1:%,%,$(filter $1:%,$(CHECKED)))),$(ALL_VENDOR_TESTS))

# ---- Running them ----------------------------------------------------------------------------------

# Ordinary users run some of what writes reports.
REPORTS   = $(abspath $B/reports)
# What each test printed.
LOGS      = $(abspath $B/logs)
UNIT_JOBS ?= 4
TEST_ENV  = UNITS=$(abspath $B) LOGS=$(LOGS) UNIT_JOBS=$(UNIT_JOBS) \
	VENDORS="$(strip $(VENDORS))" PROCESSORS="$(PROCESSORS)" SANDBOXFS=$(abspath $(BIN)/sandboxfs) PROGRAMS=$(abspath $(TEST_BIN)) \
	PROVIDER=$(or $(PROVIDER),local) LAYERS=$(LAYERS) LAYERS_TRIED="$(LAYERS_TRIED)" HELPER=$(or $(HELPER),auto) MOUNT_OPTS="$(MOUNT_OPTS)" \
	ORACLE_SEED=$(ORACLE_SEED) ORACLE_SEEDS=$(ORACLE_SEEDS) ORACLE_OPS=$(ORACLE_OPS) ORACLE_MORE="$(ORACLE_MORE)" \
	STRESS_SECONDS=$(STRESS_SECONDS) MIXING_ROUNDS=$(MIXING_ROUNDS) SOAK_MINUTES=$(MINUTES) HOSTILE_SECONDS=$(HOSTILE_SECONDS) SEED=$(SEED) \
	FUZZ_SECONDS=$(FUZZ_SECONDS) SAN=$(SAN) \
	$(if $(JITTER),JITTER=$(JITTER) LD_PRELOAD=$(abspath $(JITTER_LIBRARY))) \
	ASAN_OPTIONS=log_path=$(REPORTS)/asan:detect_stack_use_after_return=1$(if $(JITTER),:verify_asan_link_order=0) \
	LSAN_OPTIONS=log_path=$(REPORTS)/lsan:suppressions=$(abspath tests/support/leaks.supp):print_suppressions=0 \
	UBSAN_OPTIONS=log_path=$(REPORTS)/ubsan:print_stacktrace=1 \
	TSAN_OPTIONS=log_path=$(REPORTS)/tsan:second_deadlock_stack=1

# Thread sanitizers want memory where they expect it.
TEST_PREFIX = $(if $(filter thread,$(SAN)),setarch --addr-no-randomize)

# $(call run_tests,TESTS): the tests, as tests/support/run-test names them, then the reports of sanitizers.
define run_tests
	$(Q)rm -rf $(REPORTS); mkdir -p -m 1777 $(REPORTS)
	$(Q)status=0; $(TEST_ENV) $(TEST_PREFIX) tests/support/prove-tests $(JOBS) $(1) || status=1; \
	for report in $(REPORTS)/*; do \
		[ ! -s "$$report" ] || { head -n 60 "$$report"; echo "sanitizer report: $$report"; status=1; }; \
	done; \
	if [ $$status = 0 ]; then echo "$@: all passed ($(VARIANT))"; else echo "$@: FAILED ($(VARIANT))"; fi; \
	exit $$status
endef

# $(call needed,TEST): what has to be built for it.
needed = test-servers $(or $(and $(filter unit:%,$1),$B/test-$(word 2,$(subst :, ,$1))),\
	$(and $(filter contract:%,$1),$B/test-providers),\
	$(and $(filter fuzz:%,$1),$(1:fuzz:%=build/fuzz/%) build/fuzz/corpus/made),\
	$(and $(filter budgets:%,$1),programs),\
	programs pages $(if $(findstring tests/hostile/,$1),$(LIARS:%=$(TEST_BIN)/%),$(TEST_PROGRAMS:%=$(TEST_BIN)/%)))

.PHONY: check test tests test-needs check-units oracle stress posix
# Makes of their own, because nothing may be compiled before what compiling needs is there.
check:
	$(Q)sh tools/setup.sh build tests checks
	$(Q)$(MAKE) --no-print-directory run-demo
	$(Q)$(MAKE) --no-print-directory test

test: check-includes
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) test-needs
	$(call run_tests,$T)

test-needs: $$(JITTER_LIBRARY) $$(sort $$(foreach t,$$T,$$(call needed,$$t)))

# What make check builds.
tests: $$(sort $$(foreach t,$$(CHECKED),$$(call needed,$$t)))

# What needs no mount.
check-units:
	$(Q)$(MAKE) --no-print-directory test T="$(filter $(UNITS),$(SLOW)) $(filter-out $(SLOW),$(UNITS)) contract:e2b"

# What somebody in between answers in the sandbox's stead, by vendor, kind of answer and verb.
.PHONY: answers
answers:
	$(Q)status=0; ANSWERS=all $(MAKE) --no-print-directory test \
		T="$(VENDORS:%=%:tests/mount/answers.t)" || status=1; \
	for vendor in $(VENDORS); do \
		sed -n "s/^# /$$vendor /p" $(LOGS)/$$vendor-tests-mount-answers.t.log; \
	done | \
		awk 'BEGIN { print "vendor answer verb result seconds requests status" } { print }' | \
		awk '{ printf "%-10s %-20s %-6s %-10s %8s %9s %s\n", $$1, $$2, $$3, $$4, $$5, $$6, $$7 }'; \
	exit $$status

# Vendor by condition of live services: the test that asserts it, and how the test ended last.
.PHONY: matrix
matrix:
	$(Q)python3 -B tests/support/matrix.py $(LOGS)

# A hostile sandbox and hostile vendors, for HOSTILE_SECONDS each; what is wrong is told with the SEED that shows it.
.PHONY: hostile
hostile:
	$(Q)$(MAKE) --no-print-directory test T="$(HOSTILE_TESTS)" \
		HOSTILE_SECONDS=$(if $(filter file,$(origin HOSTILE_SECONDS)),60,$(HOSTILE_SECONDS))

oracle stress posix:
	$(Q)$(MAKE) --no-print-directory test T=tests/mount/$@.t

# What the mount's process takes in a mixed use, each minute: it must not grow, and come back when all is removed.
.PHONY: soak
soak:
	$(Q)$(MAKE) --no-print-directory test T="tests/soak/soak.t e2b:tests/soak/soak.t"

# Races in the mount's own process, under the stress program: files, the control directory, commands, jobs, changes in the
# sandbox and killed processes beside each other.
.PHONY: check-threads
check-threads:
	$(Q)$(MAKE) --no-print-directory stress SAN=thread STRESS_SECONDS=$(or $(THREADS_SECONDS),60)

# A debug build: where a kill could lose a change or make it twice (cache/session/fault.h), and handles that
# are poisoned when they end (fs/handle_memory.h).
.PHONY: check-faults
check-faults:
	$(Q)$(MAKE) --no-print-directory test FAULTS=1 T="unit:cache unit:fs $(FAULT_TESTS) $(HANDLE_TESTS)"

# What is run on every release of Debian: units, the scripts on the embedded sandbox and about E2B,
# those of E2B's sandboxes that make check has, and the package; without what asks for more than
# setup.sh installs for tests.
DISTRO_TESTS ?= tests/install/debian.t $(UNITS) contract:e2b $(filter e2b:%,$(CHECKED)) $(SCRIPTS)
RELEASES     ?= bookworm trixie
.PHONY: distro-tests check-distros
distro-tests:
	$(Q)$(MAKE) --no-print-directory test T="$(DISTRO_TESTS)"

# Each in a root of its own (tests/distro); then their tests beside each other.
check-distros:
	$(Q)sh tools/setup.sh roots
	$(Q)status=0; for release in $(RELEASES); do tests/distro $$release || status=1; done; \
	tests/support/distro-table $(RELEASES:%=build/distro/%.log); exit $$status

# The sandboxes of two vendors, one of which tells changes as they happen, in layers as a container's are.
LAYERED       := e2b daytona
LAYERED_TESTS  = $(foreach v,$(LAYERED),$(ALL_VENDOR_TESTS:%=$v:%) budgets:$v) \
	$(filter-out $(LONG_TESTS) $(FAULT_TESTS),$(wildcard $(LAYERED:%=tests/mount/%_*.t)))
LAYERS_ALL    := overlay overlay,apart overlay,apart,xino=on overlay,index=on overlay,redirect_dir=on fuse-overlayfs docker

# Sandboxes of E2B of which something is missing, or lies elsewhere. Out stay scripts that choose
# what their sandboxes lie on, and of each kind those that want what is missing: a path in the home,
# python3, make and functions of bash.
BARE_KINDS            := ro no-home busybox-only tmpfs bind noexec
BARE_NOT              := bare documents full_disk layers no_helper no_home noexec oracle_self read_only
BARE_NOT_no-home      := ctl_copy ctl_create ctl_exec ctl_journal inherited left_behind
BARE_NOT_busybox-only := after_exec backend ctl_exec ctl_run lying_links sessions
# $(call bare_tests,KIND)
bare_tests = $(filter-out $(patsubst %,e2b:tests/mount/%.t,$(BARE_NOT) $(BARE_NOT_$1)),$(ALL_VENDOR_TESTS:%=e2b:%))

# Containers of Docker's as sandboxes. Out stay scripts about a vendor's service, which makes, lists,
# pauses and ends sandboxes, and about its test server, which has faults and layers.
NOT_OF_DOCKER := answers bare ctl_create ctl_life ctl_list ctl_live ctl_taken ctl_url ctl_with dead_link documents full_disk inherited layers lazy \
	left_behind lying_links no_helper noexec oracle_self paused ports read_only skew small_save vendor_faults vendor_key
DOCKER_SUITE   = $(patsubst %,docker:%,$(filter-out $(NOT_OF_DOCKER:%=tests/mount/%.t),$(ALL_VENDOR_TESTS)))
# A host of OpenSSH's sshd as the sandbox: the same scripts, but those that `check` has run there in the same form.
SSH_SUITE      = $(patsubst tests/mount/%.t,ssh:tests/mount/%.t,\
	$(filter-out $(patsubst %,tests/mount/%.t,$(NOT_OF_DOCKER) $(filter-out oracle,$(COMMAND_TESTS))),$(ALL_VENDOR_TESTS)))

# The steps of a release, and what each gives to make. All are run, whichever fails; each one's time is told.
#
# No step repeats what another has shown, in the same form, of the same code:
#
#	a vendor's scripts    not those that `check` has run in its sandboxes, but the ones that a release has at greater length
#	                      (oracle: a call takes some 10 ms there, so the long trace is E2B's; others have a tenth of it)
#	process               nothing about a vendor, whose helper runs in the sandbox whatever HELPER is
#	clang, sanitizers, jitter    neither fuzzers nor budgets; clang's code is the same in every vendor's sandbox
RELEASE_STEPS := lint check conformance long fuzz oracle three-steps process mixing $(VENDORS) ssh layers $(BARE_KINDS:%=bare-%) budgets fault-rounds sanitizers clang jitter answers hostile hostile-sanitizers \
	distros containers faults threads threads-e2b stress soak mutants live
STEPS         ?= $(RELEASE_STEPS)

release_lint         = lint
release_check        = check
release_conformance  = conformance
release_long         = test T="$(LONG_TESTS) $(PROCESSORS:%=contract:%)"
release_fuzz         = fuzz FUZZ_SECONDS=60
release_oracle       = oracle ORACLE_OPS=50000 ORACLE_SEEDS=2
release_three-steps  = test T="unit:cache:three_steps/* unit:cache:times/*" SANDBOXFS_CASES_STRIDE=1
release_process      = test HELPER=process ORACLE_OPS=20000 T="$(ALL_VENDOR_TESTS)"
release_mixing       = test MIXING_ROUNDS=10000 T="tests/mount/mixing.t e2b:tests/mount/mixing.t docker:tests/mount/mixing.t"
$(foreach v,$(VENDORS),$(eval release_$v = test PROVIDER=$v STRESS_SECONDS=60 STATUSES="400 401 403 404 500 502" \
	LEVELS="error warn info" EDGE_COMMANDS=200 WHOLE=yes LAYERS_TRIED="overlay overlay,apart" \
	ORACLE_OPS=$(if $(filter e2b,$v),20000,2000) T="$$(call left_of_vendor,$v)"))
release_ssh          = test STRESS_SECONDS=60 ORACLE_OPS=20000 T="contract:ssh budgets:ssh budgets:kubernetes $(OF_PROGRAMS:%=ssh:%) $(SSH_SUITE)"
release_layers       = test LAYERS=overlay LAYERS_TRIED="$(LAYERS_ALL)" ORACLE_OPS=100000 T="$(LAYERED_TESTS)"
$(foreach k,$(BARE_KINDS),$(eval release_bare-$k = test LAYERS=$k ORACLE_OPS=2000 T="$$(call bare_tests,$k)"))
release_budgets      = budgets
release_fault-rounds = test ROUNDS=all T=tests/mount/e2b_fault_works.t
release_answers      = answers
release_hostile      = hostile HOSTILE_SECONDS=600
release_hostile-sanitizers = hostile HOSTILE_SECONDS=600 SAN=address,undefined
release_sanitizers   = test SAN=address,undefined T="$(COMPILED)"
release_clang        = test CC=clang T="$(filter-out $(VENDORS:%=%:%),$(COMPILED))"
release_jitter       = test JITTER=1 T="$(COMPILED)"
release_distros      = check-distros
release_containers   = test T="$(DOCKER_TESTS:%=e2b:%) $(DOCKER_TESTS:%=aio:%) tests/mount/docker.t tests/mount/podman.t \
	contract:docker budgets:docker $(OF_PROGRAMS:%=docker:%) \
	$(DOCKER_SUITE)"
release_faults       = check-faults
release_threads      = check-threads
release_threads-e2b  = check-threads PROVIDER=e2b
release_stress       = stress STRESS_SECONDS=600
release_soak         = soak MINUTES=5
release_mutants      = mutants
release_live         = live

# $(call release_step,STEP): for the shell, which counts in `failed`.
define release_step
began=$$(date +%s); \
if $(MAKE) --no-print-directory $(release_$1); then is=passed; else is=FAILED; failed=$$((failed + 1)); fi; \
echo "check-all: $1 $$is after $$(($$(date +%s) - began)) s" | tee -a $(RELEASE_TIMES);
endef

RELEASE_TIMES = build/check-all.times
.PHONY: check-all
check-all:
	$(if $(filter-out $(RELEASE_STEPS),$(STEPS)),$(error no such step: $(filter-out $(RELEASE_STEPS),$(STEPS))))
	$(Q)sh tools/setup.sh build tests checks roots containers
	$(Q)mkdir -p build; rm -f $(RELEASE_TIMES)
	$(Q)failed=0; $(foreach s,$(STEPS),$(call release_step,$s)) \
	echo; cat $(RELEASE_TIMES); echo "check-all: $$failed failed of $(words $(STEPS)) steps"; [ $$failed = 0 ]

# ---- What needs no running -------------------------------------------------------------------------

# The parts of the cache, each of which includes those before it; the files beside their folders are its face.
CACHE_PARTS := session blocks journal tree lease read write

# $(call check_parts,THOSE BEFORE,PARTS)
define check_parts
	$(Q)! grep -nE '^#include "cache/' -r cache/$(firstword $2) | \
		grep -vE '"cache/($(subst $() ,|,$(strip $1 $(firstword $2))))/'
$(if $(word 2,$2),$(call check_parts,$1 $(firstword $2),$(wordlist 2,99,$2)))
endef

# tools -> fs -> cache -> providers -> providers/base, never upwards; FUSE for fs and tools alone, json-c for codecs.
.PHONY: check-includes
check-includes:
	$(Q)! grep -nE '^#include "(cache|fs|tools|tests)/' -r providers
	$(Q)! grep -nE '^#include "(fs|tools|tests)/' -r cache
	$(call check_parts,,$(CACHE_PARTS))
	$(Q)! grep -nE '^#include "(tools|tests)/' -r fs
	$(Q)! grep -nE '^#include "tests/' -r tools
	$(Q)! grep -nE '^#include "' -r providers/base | grep -v '"providers/base/'
	$(Q)! grep -nE '^#include "providers/' -r providers/helper | \
		grep -vE '"providers/(base|helper)/|"providers/verbs.h"'
	$(Q)! grep -nE '^#include "providers/' -r providers/http | grep -vE '"providers/(base|http)/'
	$(Q)! grep -nE '^#include <fuse' -r providers cache
	$(Q)! grep -lE '^#include <curl/' -r tools fs cache providers | grep -v '^providers/http'
	$(Q)! grep -lE '^#include <json-c/' -r tools fs cache providers | \
		grep -vE '^providers/(rest|$(subst $() ,|,$(strip $(VENDORS))))/'
	@# What people read is said: say.h and output.h make foreign text harmless. Help has none,
	@# and a journal's listing escapes it.
	$(Q)! grep -nE '\<(v?d?f?printf|f?puts|f?putc|putchar|perror)\(' -r tools fs cache providers \
		--include='*.c' | grep -vE "^(providers/helper/|[^:]*:[0-9]*:.*(printf '| *\* ))" | \
		grep -vE '^(providers/base/log|tools/(say|help|config|umount_help|describe/[a-z_]*))\.c:' | \
		grep -vE '^tools/ctl/(output|complete|ctl_help|journal_export)\.c:'
	@# What a vendor reads of the environment is in the table that sandboxfs-providers(7) has.
	$(Q)! grep -nE 'getenv\(' -r providers --include='*.c' | \
		grep -vE '^providers/(variables|home|command/engine_socket|local/(store|jail_options)|http/[a-z]*)\.c:'
	@# One start of threads, which takes no signals, and one place that reads clocks.
	$(Q)! grep -nE '\<(pthread_create|clock_gettime)\(' -r tools fs cache providers --include='*.c' | \
		grep -vE '^providers/(base/(thread|time)|helper/serve)\.c:'
	@# json-c 0.18 refuses, where it is strict, every byte of a text above 0x7f.
	$(Q)! grep -n 'JSON_TOKENER_STRICT' -r tools fs cache providers tests --include='*.[ch]'
	@# Criterion 2.4.1 takes gt() for ge(): lt() with the other order says it.
	$(Q)! grep -nE '\<gt\([a-z0-9]+,' -r tests --include='*.[ch]'

# What the product defines and none of its programs calls. It is compiled once more: inlining hides who calls what.
$B/bin/sandboxfs-helper: $$(call obj,$$(HELPER_SRC))
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^

.PHONY: check-unused
check-unused:
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) B=build/unused BIN=build/unused/bin \
		CFLAGS="-O0 -ffunction-sections -fdata-sections" LDFLAGS=-Wl,--gc-sections \
		programs build/unused/describe build/unused/bin/sandboxfs-helper
	$(Q)tests/support/unused build/unused

SOURCES = $(wildcard $(foreach d,tools tools/ctl tools/describe fs cache providers $(wildcard cache/* providers/* fs/*) tests/support tests/live tests/servers/native \
	$(TEST_LAYERS:%=tests/%) $(wildcard tests/cache/* tests/fs/*) $(TEST_PROGRAMS:%=tests/%) tests/hostile tests/jitter tests/fuzz,$d/*.c $d/*.h))

.PHONY: format lint
format:
	clang-format -i $(SOURCES)

# cppcheck reads no system headers, but the macros of this one are declarations.
QUEUE_H := $(firstword $(wildcard /usr/include/*/sys/queue.h /usr/include/sys/queue.h))
lint: check-includes check-unused
	$(Q)clang-format --dry-run -Werror $(SOURCES)
	$(Q)cppcheck $(QUEUE_H:%=--include=%) --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem -DHAVE_FUSE_TMPFILE -D_GNU_SOURCE -I. -j$(JOBS) \
		$(filter-out tests/providers/% tests/http/% $(VENDORS:%=tests/%/%) tests/cache/% tests/fs/% tests/tools/% tests/fuzz/%,$(filter %.c,$(SOURCES)))
