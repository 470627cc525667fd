# sandboxfs: the only build file. `make help` lists what there is.

CC     ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
SBINDIR ?= /sbin
V      ?= 0

VERSION := 0.1.0
ifeq ($(origin CC),default)
CC := gcc
endif
PKG_CONFIG ?= pkg-config
comma := ,
empty :=
# A compiler without what runs it, as `ccache` does, and with its options: "gcc -march=native" is gcc-march-native.
compiler_name = $(subst =,-,$(subst $(empty) $(empty),,$(filter-out ccache distcc sccache,$(notdir $(1)))))
# What makes programs that run here, whatever machine CC makes them for.
processor     = $(firstword $(subst -, ,$(shell $(1) -dumpmachine 2>/dev/null)))
CC_FOR_BUILD := $(or $(CC_FOR_BUILD),$(if \
	$(filter $(call processor,$(CC)),$(call processor,gcc) $(shell uname -m)),$(CC),gcc))
# A folder for each compiler and sanitizer; the plain build's programs land in build/bin. FAULTS=1: see cache/session/fault.h.
VARIANT := $(call compiler_name,$(CC))-$(or $(subst $(comma),-,$(SAN)),plain)$(if $(FAULTS),-faults)
B       := build/$(VARIANT)
BIN     := $(if $(filter gcc-plain,$(VARIANT)),build/bin,$B/bin)

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla
# Our own runs pass WERROR=-Werror; a user's newer compiler must still build.
WERROR ?=
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARN) $(WERROR) -MMD -MP -I. \
	-DSANDBOXFS_VERSION='"$(VERSION)"' $(if $(FAULTS),-DFAULT_POINTS) $(FUSE_CFLAGS) $(SANFLAGS) $(CPPFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(SANFLAGS) $(LDFLAGS) -pthread

ifeq ($V,0)
Q := @
say = @echo "  $(1)  $(2)";
else
say =
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all
all: programs

# The vendors: each has a test server.
VENDORS := $(patsubst tests/servers/%/main.mjs,%,$(wildcard tests/servers/*/main.mjs))

include $(sort $(wildcard providers/helper/*.mk tools/*.mk tests/*.mk))

# ---- What there is, by layer -------------------------------------------------------------------

SRC_base      := $(wildcard providers/base/*.c)
SRC_helper    := $(filter-out providers/helper/main.c,$(wildcard providers/helper/*.c))
SRC_http      := $(wildcard providers/http/*.c)
SRC_vendors   := $(wildcard $(VENDORS:%=providers/%/*.c))
SRC_providers := $(SRC_base) $(SRC_helper) $(SRC_http) $(SRC_vendors) $(wildcard providers/*.c \
	providers/client/*.c providers/command/*.c providers/local/*.c providers/remote/*.c providers/rest/*.c)
SRC_cache     := $(wildcard cache/*.c cache/*/*.c)
SRC_fs        := $(wildcard fs/*.c fs/*/*.c)
SRC_ctl       := $(wildcard tools/ctl/*.c)
TOOLS_MAINS   := $(patsubst %,tools/%.c,sandboxfs umount sandboxctl)
SRC_tools     := $(filter-out $(TOOLS_MAINS),$(wildcard tools/*.c))

obj = $(patsubst %.c,$B/%.o,$(1))

# Only fs and tools may see FUSE: elsewhere <fuse_lowlevel.h> is not found.
FUSE_FOUND := $(shell $(PKG_CONFIG) --cflags fuse3 2>/dev/null) \
	$(if $(shell grep -ls '(\*tmpfile)' $$($(PKG_CONFIG) --variable=includedir fuse3 2>/dev/null)/fuse3/fuse_lowlevel.h),-DHAVE_FUSE_TMPFILE)
$B/fs/%.o $B/tools/%.o $B/tests/fs/%.o $B/tests/tools/%.o: FUSE_CFLAGS = $(FUSE_FOUND)

$B/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Messages of the vendors' wires, made of their .proto by protobuf-c. They are the same for every variant of the build.
PROTOS    := $(wildcard providers/*/*.proto)
GENERATED := $(PROTOS:%.proto=build/generated/%.pb-c.c)
# No system's: whatever includes one is compiled again when the .proto changes.
ALL_CFLAGS += -Ibuild/generated

build/generated/%.pb-c.c build/generated/%.pb-c.h &: %.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$<)protoc-c --c_out=build/generated $<

$B/generated/%.o: build/generated/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -w -c -o $@ $<

# Whoever may include them waits until they are there.
$(call obj,$(SRC_vendors)): | $(GENERATED)
OBJ_GENERATED = $(GENERATED:build/%.c=$B/%.o)

define layer
$B/lib$(1).a: $$(call obj,$$(SRC_$(1))) $(if $(filter providers,$(1)),$$(OBJ_GENERATED))
	@rm -f $$@
	$$(call say,AR,$$@)ar rcs --thin $$@ $$^
endef
$(foreach l,providers cache fs,$(eval $(call layer,$l)))

# A layer's programs and tests link it and those below: a call upwards does not link.
LIBS_providers := $B/libproviders.a
LIBS_cache     := $B/libcache.a $(LIBS_providers)
LIBS_fs        := $B/libfs.a $(LIBS_cache)
EXT_providers   = $(shell $(PKG_CONFIG) --libs libxxhash json-c libcurl libprotobuf-c zlib)
EXT_cache       = $(EXT_providers)
EXT_fs          = $(shell $(PKG_CONFIG) --libs fuse3) $(EXT_cache)
EXT_ctl         = $(shell $(PKG_CONFIG) --libs libarchive) $(EXT_fs)

# ---- Programs ------------------------------------------------------------------------------------

.PHONY: programs
programs: check-includes $(BIN)/sandboxfs $(BIN)/umount.fuse.sandboxfs $(BIN)/sandboxctl

$(BIN)/sandboxfs: $(call obj,tools/sandboxfs.c $(SRC_tools)) $(LIBS_fs)
$(BIN)/sandboxctl: $(call obj,tools/sandboxctl.c $(SRC_ctl) $(SRC_tools)) $(LIBS_fs)
$(BIN)/sandboxfs: EXT = $(EXT_fs)
$(BIN)/sandboxctl: EXT = $(EXT_ctl)
$(BIN)/sandboxfs $(BIN)/sandboxctl:
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT)

# It is small: what it shares with sandboxfs are these, and it has no use for the layers.
SRC_umount := $(patsubst %,tools/%.c,umount umount_help help apart detach drain mount_elsewhere mounted namespace unsynced real_path user_map bytes_text duration_text progress say)
$(BIN)/umount.fuse.sandboxfs: $(call obj,$(SRC_umount)) $(LIBS_providers)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_providers)

# Prints what the others know of themselves: man pages are made of it, so it is made for this machine (tools/install.mk).
$B/describe: $(call obj,$(wildcard tools/describe/*.c) $(SRC_ctl) $(SRC_tools)) $(LIBS_fs)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_ctl)

# ---- The rest --------------------------------------------------------------------------------------

.PHONY: clean help
clean:
	rm -rf build

help:
	@sed -n 's/^#: //p' $(MAKEFILE_LIST)

#: make                 the programs, in build/bin
#: make demo            install what is missing, build, mount local:demo, edit, run, unmount
#: make check           install what is missing, build, run every kind of test in its short form: ten minutes
#: make check-all       the same at length, through the helper program, under every sanitizer: hours
#: make test T=TEST     one test, or several: unit:cache 'unit:cache:lease/*' tests/mount/exec.t e2b:tests/mount/exec.t
#: make check SAN=address,undefined | CC=clang | HELPER=process | JITTER=SEED
#: make oracle          random system calls on a mount and a plain directory (ORACLE_OPS=, ORACLE_SEED=, HELPER=)
#: make answers         what somebody in between answers in the sandbox's stead, by vendor, kind of answer and verb
#: make hostile         a helper and services that lie at random (HOSTILE_SECONDS=, SEED=)
#: make posix           cases of POSIX on a mount
#: make stress          threads on one mount (STRESS_SECONDS=)
#: make soak            a mixed use on local: and e2b:, and what the mount's process takes each minute (MINUTES=)
#: make check-threads   the stress under the thread sanitizer
#: make check-distros   the demonstration, units, scripts and the package on each release of Debian (RELEASES=)
#: make fuzz            the parsers with libFuzzer (FUZZ_SECONDS=)
#: make conformance     test servers held against the vendors' SDKs
#: make sdk-bump        the same with the newest SDKs, and what they changed
#: make matrix          which test asserts what of which vendor, by condition, and how that ended in its last run
#: make budgets         requests of everyday work, counted and held against what is allowed (BUDGETS=--help)
#: make bench           the workloads beside sshfs and rclone (BENCH=--help)
#: make bench LINKS=1   everyday work through slow, uneven, stalling and dying links
#: make bench-table     its last table into tests/bench/README.md, and one over ssh into README.md
#: make lint            formatting, cppcheck, functions that nobody calls, direction of includes
#: make format          clang-format everything
#: make table           write the figures of documents that come from the sources: budgets, speeds
#: make install         PREFIX=/usr/local SBINDIR=/sbin DESTDIR= (tools/install.mk has more)
#: make uninstall       the same
#: make deb             a package for Debian, in build/deb
#: make setup, make setup-tests    only install what building, or testing, needs
#: make clean           remove build

-include $(shell find build \( -path build/deb -o -path build/distro -o -path build/mutants \) -prune -o -name '*.d' -print 2>/dev/null)
