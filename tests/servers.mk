# The vendors' test servers (tests/servers) are scripts for Node; these are the programs they need in a sandbox.
#
#	make test-servers

SERVER_PROGRAMS := watch pty
SERVER_BIN      := build/servers

$(SERVER_BIN)/%: tests/servers/native/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(WERROR) $(CFLAGS) -o $@ $< -lutil

.PHONY: test-servers
test-servers: $(SERVER_PROGRAMS:%=$(SERVER_BIN)/%)
