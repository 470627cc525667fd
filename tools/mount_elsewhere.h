/*
 * mount_elsewhere.h - the same mount in mount namespaces of other processes, where it lives on after
 * it was unmounted here: a container that began meanwhile has a copy of it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The device of the topmost mount on `dir`, as mount tables write it, "0:57". Nothing is asked of it. */
struct mount_device {
	char text[32]; /* "": unknown */
};

void mount_device_of(const char *dir, struct mount_device *out);

/*
 * A process in whose namespace a mount of sandboxfs of that device is; 0: none that may be looked at.
 * `dir`, of `room` bytes: where it is there.
 */
pid_t mount_elsewhere(const struct mount_device *device, char *dir, size_t room);
