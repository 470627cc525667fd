# What brings the programs onto a machine: included by the Makefile. B, BIN, PREFIX and SBINDIR come from there.

BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
# Where the shells look for what others bring.
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system

.PHONY: pages install uninstall setup setup-tests demo run-demo

# ---- Manual pages --------------------------------------------------------------------------------

# Their tables of options are those that the programs read.
PAGES := $(patsubst tools/man/%.in,build/man/%,$(wildcard tools/man/*.in))
pages: $(PAGES)

# In a build for another machine a make of its own makes the program that prints them, for this one.
ifeq ($(CC_FOR_BUILD),$(CC))
DESCRIBE := $B/describe
else
DESCRIBE := build/$(call compiler_name,$(CC_FOR_BUILD))-plain/describe
.PHONY: $(DESCRIBE)
$(DESCRIBE):
	$(Q)$(MAKE) --no-print-directory CC='$(CC_FOR_BUILD)' PKG_CONFIG=pkg-config CFLAGS='-O2 -g' CPPFLAGS= LDFLAGS= SAN= FAULTS= $@
endif

build/man/facts: $(DESCRIBE)
	@mkdir -p $(@D)
	$(Q)$< >$@

build/man/%: tools/man/%.in tools/man/page.awk build/man/facts
	$(call say,MAN,$@)awk -v version=$(VERSION) -f tools/man/page.awk build/man/facts $< >$@

# ---- Services ------------------------------------------------------------------------------------

UNIT := build/systemd/sandboxfs@.service

# Made anew each time: it names the places that this make was given.
.PHONY: $(UNIT)
$(UNIT): tools/systemd/sandboxfs@.service.in
	@mkdir -p $(@D)
	$(Q)sed 's|@bindir@|$(BINDIR)|; s|@sbindir@|$(SBINDIR)|' $< >$@

# ---- Installing ----------------------------------------------------------------------------------

# bash and fish look for a file of the program's name.
COMPLETED := sandboxctl sandboxfs umount.fuse.sandboxfs

# MODE:FILE:DESTINATION. mount(8) and umount(8) look for their helpers in /sbin alone, whatever PREFIX is.
INSTALLED = 755:$(BIN)/sandboxfs:$(BINDIR)/sandboxfs \
	755:$(BIN)/sandboxctl:$(BINDIR)/sandboxctl \
	755:$(BIN)/umount.fuse.sandboxfs:$(SBINDIR)/umount.fuse.sandboxfs \
	644:$(UNIT):$(UNITDIR)/$(notdir $(UNIT)) \
	644:tools/completions/_sandboxctl:$(ZSHDIR)/_sandboxctl \
	$(foreach program,$(COMPLETED),644:tools/completions/sandboxctl.bash:$(BASHDIR)/$(program) \
		644:tools/completions/sandboxctl.fish:$(FISHDIR)/$(program).fish) \
	$(foreach page,$(PAGES),644:$(page):$(MANDIR)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page)))

# DESTDIR is the shell's to expand: any name may be in it.
export DESTDIR
define install_file
	install -D -m $(word 1,$(1)) $(word 2,$(1)) "$$DESTDIR$(word 3,$(1))"

endef

install: programs pages $(UNIT)
	$(foreach file,$(INSTALLED),$(call install_file,$(subst :, ,$(file))))
	ln -sf $(BINDIR)/sandboxfs "$$DESTDIR$(SBINDIR)/mount.fuse.sandboxfs"

uninstall:
	rm -f $(foreach file,$(INSTALLED),"$$DESTDIR$(word 3,$(subst :, ,$(file)))") "$$DESTDIR$(SBINDIR)/mount.fuse.sandboxfs"

# ---- What building needs; what the tests need besides --------------------------------------------

setup:
	$(Q)sh tools/setup.sh build

setup-tests:
	$(Q)sh tools/setup.sh build tests checks

# A make of its own, because nothing may be compiled before what compiling needs is there.
demo: setup
	$(Q)$(MAKE) --no-print-directory run-demo

run-demo: programs
	$(Q)sh tools/demo.sh $(BIN)
