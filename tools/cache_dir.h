/*
 * cache_dir.h - where contents of files are kept on this machine.
 */
#pragma once

/*
 * `asked`: the value of cache=, or NULL: $XDG_CACHE_HOME/sandboxfs, else .cache/sandboxfs in the user's home. Allocated; NULL:
 * nowhere, because of "off" or for want of a home.
 */
char *cache_dir(const char *asked);
