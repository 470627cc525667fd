# The providers' contract on the vendors' own services, where there is a key.

#: make live            the contract on the services of the vendors whose keys are set: one sandbox for some minutes

LIVE_SANDBOX := $(TEST_BIN)/live-sandbox

$(LIVE_SANDBOX): $$(call obj,$$(wildcard tests/live/*.c)) $$(LIBS_providers)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(EXT_providers)

.PHONY: live
live: $B/test-providers $(LIVE_SANDBOX) $(BIN)/sandboxctl
	$(Q)tests/live/run $B/test-providers $(LIVE_SANDBOX) $(BIN)/sandboxctl $(VENDORS)
