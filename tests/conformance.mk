# Test servers held against the vendors' own SDKs, which npm brings into build/conformance, and the
# example of a backend against the types of its protocol.
#
#	make conformance
#	make conformance VENDORS=e2b
#
# The same with the newest SDKs, and what they changed: another version, addresses and methods that are new or gone, how
# much of the interface's types differs, which tests fail.
#
#	make sdk-bump

.PHONY: conformance run-conformance sdk-bump
# A make of its own, because nothing may be compiled before what compiling needs is there.
conformance:
	$(Q)sh tools/setup.sh build tests checks
	$(Q)$(MAKE) --no-print-directory run-conformance

run-conformance: test-servers
	$(Q)tests/conformance/run $(VENDORS) $(if $(findstring command,$(origin VENDORS)),,kubernetes backend)

sdk-bump: test-servers
	$(Q)tests/conformance/bump $(VENDORS)
