/*
 * devices.h - the devices of a sandbox.
 *
 * A jail that runs as root owns the device files that are visible and could change their modes for
 * the whole machine. So root's sandboxes have files of their own for the same devices.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct local_device {
	const char *name;
	unsigned major, minor;
};

/* The devices that every program needs; the last element has no name. */
extern const struct local_device local_devices[];

/*
 * Makes the devices in the directory `dir`. False: devices cannot be made or used there, because we
 * are not root, the capability is missing or the file system is mounted nodev.
 */
bool local_devices_make(int dir);
