# The static helper programs and how sandboxfs comes to carry them. Included by the Makefile.
#
# For the processor of this machine with musl where musl-gcc is installed, else with the compiler's own static libc; for
# each of the others where a cross compiler is installed. They are the same for every variant of the build, and are carried
# compressed. HELPER_MACHINES names those that there must be: without the compiler of one of them the build then fails.

HELPER_SRC   := $(wildcard providers/helper/*.c) $(filter-out %/log.c,$(wildcard providers/base/*.c))
HELPER_FLAGS  = -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 $(WARN) $(WERROR) -I. \
	-isystem build/helper/include -DSANDBOXFS_VERSION='"$(VERSION)"' -Os -static -pthread \
	-ffunction-sections -fdata-sections -Wl,--gc-sections -s

# As `uname -m` calls them, and the compiler of each.
helper_known      := x86_64 aarch64 armv7l riscv64
helper_cc_x86_64  := x86_64-linux-gnu-gcc
helper_cc_aarch64 := aarch64-linux-gnu-gcc
helper_cc_armv7l  := arm-linux-gnueabihf-gcc
helper_cc_riscv64 := riscv64-linux-gnu-gcc

helper_native := $(shell uname -m)
find_program   = $(shell command -v $(1) 2>/dev/null)
helper_cc      = $(if $(filter $(1),$(helper_native)),$(or $(call find_program,musl-gcc),$(CC_FOR_BUILD)),$(helper_cc_$(1)))
helper_program = build/helper/$(1)/sandboxfs-helper

ifndef HELPER_MACHINES
HELPER_MACHINES := $(foreach m,$(helper_known),$(if $(call find_program,$(firstword $(call helper_cc,$m))),$m))
endif
HELPER_PROGRAMS := $(foreach m,$(HELPER_MACHINES),$(call helper_program,$m))

# musl-gcc and cross compilers do not look into /usr/include, and must not: of it they are given this one header.
build/helper/include/xxhash.h: $(firstword $(wildcard /usr/include/xxhash.h /usr/local/include/xxhash.h))
	@mkdir -p $(@D)
	$(Q)cp $< $@

define helper_rule
$(call helper_program,$(1)): $$(HELPER_SRC) $$(wildcard providers/helper/*.h providers/base/*.h \
		providers/*.h) build/helper/include/xxhash.h
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$(call helper_cc,$(1)) $$(HELPER_FLAGS) -o $$@ $$(HELPER_SRC)
endef
$(foreach m,$(HELPER_MACHINES),$(eval $(call helper_rule,$m)))

# Without a name or a time in it.
build/helper/%.gz: build/helper/%
	$(call say,GZIP,$@)gzip -9nc $< >$@

.PHONY: helper
helper: $(HELPER_PROGRAMS)

$B/providers/client/image.o: $(HELPER_PROGRAMS:%=%.gz)
$B/providers/client/image.o: ALL_CFLAGS += \
	$(foreach m,$(HELPER_MACHINES),-DHELPER_IMAGE_$m='"$(call helper_program,$m).gz"')
