# `make fuzz`: each tests/fuzz/fuzz_*.c for FUZZ_SECONDS with libFuzzer, as the test fuzz:NAME. Findings stay in build/fuzz.

FUZZ_SECONDS ?= 2
FUZZ_CC      ?= clang
FUZZ_FLAGS    = -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARN) $(WERROR) -MMD -MP -I. -Ibuild/generated \
	-DSANDBOXFS_VERSION='"$(VERSION)"' -g -O1 -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined

FUZZERS     := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
# Of the vendors' .proto files, as in the Makefile.
FUZZ_PROTO  := $(patsubst %.proto,build/generated/%.pb-c.c,$(wildcard providers/*/*.proto))
FUZZ_SRC    := $(wildcard cache/*.c cache/*/*.c providers/*.c $(patsubst %,providers/%/*.c,base http client command local remote rest)) $(wildcard $(VENDORS:%=providers/%/*.c)) \
	$(filter-out providers/helper/main.c,$(wildcard providers/helper/*.c)) $(FUZZ_PROTO)
FUZZ_OBJ    := $(FUZZ_SRC:%.c=build/fuzz/obj/%.o)
$(FUZZ_OBJ): | $(FUZZ_PROTO)

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

# These have exchanges of their own (tests/fuzz/scripted_exchange.h).
FUZZERS_SCRIPTED := fuzz_bash fuzz_modal

$(FUZZERS_SCRIPTED:%=build/fuzz/%): build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o $(FUZZ_OBJ)
	$(call say,LD,$@)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,--wrap=call_sleep,--wrap=poll -o $@ \
		$(filter-out build/fuzz/obj/providers/http/exchange.o,$^) $(EXT_providers) -pthread

build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o $(FUZZ_OBJ)
	$(call say,LD,$@)$(FUZZ_CC) $(FUZZ_FLAGS) \
		$(if $(filter fuzz_%,$(@F)),-fsanitize=fuzzer) -o $@ $^ $(EXT_providers) -pthread

build/fuzz/corpus/made: build/fuzz/seeds
	$(Q)build/fuzz/seeds build/fuzz/corpus && touch $@

.PRECIOUS: build/fuzz/obj/%.o
.PHONY: fuzz
fuzz:
	$(Q)$(MAKE) --no-print-directory test FUZZ_SECONDS=$(if $(filter file,$(origin FUZZ_SECONDS)),20,$(FUZZ_SECONDS)) \
		T="$(FUZZERS:%=fuzz:%)"
