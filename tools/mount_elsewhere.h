/*
 * mount_elsewhere.h - copies of a mount in mount namespaces of other processes, where it lives on
 * after it was unmounted here: a container that was started meanwhile has a copy.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The device of the topmost mount on `dir`, as mount tables write it, "0:57". The mount is not
 * asked.
 */
struct mount_device {
	char text[32]; /* "": unknown */
};

void mount_device_of(const char *dir, struct mount_device *out);

/*
 * A process whose namespace has a mount of sandboxfs of that device; 0: no visible process has.
 * `dir`, of `room` bytes: its directory there.
 */
pid_t mount_elsewhere(const struct mount_device *device, char *dir, size_t room);
