# What brings the programs onto a machine: included by the Makefile. B, BIN, PREFIX and SBINDIR come from there.

.PHONY: install uninstall setup setup-tests demo run-demo

# mount(8) and umount(8) look for their helpers in /sbin alone, whatever PREFIX is.
install: programs
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(SBINDIR)
	install -m 755 $(BIN)/sandboxfs $(DESTDIR)$(PREFIX)/bin/sandboxfs
	ln -sf $(PREFIX)/bin/sandboxfs $(DESTDIR)$(SBINDIR)/mount.fuse.sandboxfs
	install -m 755 $(BIN)/umount.fuse.sandboxfs $(DESTDIR)$(SBINDIR)/umount.fuse.sandboxfs

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sandboxfs $(DESTDIR)$(SBINDIR)/mount.fuse.sandboxfs \
		$(DESTDIR)$(SBINDIR)/umount.fuse.sandboxfs

# What building needs; what the tests need besides.
setup:
	$(Q)sh tools/setup.sh build

setup-tests:
	$(Q)sh tools/setup.sh build tests

# A make of its own, because nothing may be compiled before what compiling needs is there.
demo: setup
	$(Q)$(MAKE) --no-print-directory run-demo

run-demo: programs
	$(Q)sh tools/demo.sh $(BIN)
