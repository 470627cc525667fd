# The Debian package: included by the Makefile. VERSION comes from there.

.PHONY: deb

# What dpkg-buildpackage wants: the sources, with a folder `debian` at their top. Of the environment it is given nothing that
# could make the package another one.
DEB_SOURCES := build/deb/sandboxfs-$(VERSION)

deb:
	$(Q)sh tools/setup.sh build package
	$(Q)rm -rf build/deb && mkdir -p $(DEB_SOURCES)
	$(Q)tar -c --exclude=./build --exclude=./.git . | tar -x -C $(DEB_SOURCES)
	$(Q)cp -r tools/debian $(DEB_SOURCES)/debian
	$(Q)sed 's/@version@/$(VERSION)/' tools/debian/changelog.in >$(DEB_SOURCES)/debian/changelog
	$(Q)cp LICENSE $(DEB_SOURCES)/debian/copyright
	$(Q)cd $(DEB_SOURCES) && env -i PATH="$$PATH" HOME="$$HOME" DEB_BUILD_OPTIONS="$$DEB_BUILD_OPTIONS" \
		dpkg-buildpackage -b -us -uc
	@ls build/deb/*.deb
