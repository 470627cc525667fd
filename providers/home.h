/*
 * home.h - where the user's own files are.
 */
#pragma once

/*
 * $HOME, where it is an absolute path; otherwise the home in the user database: mount(8) and
 * systemd start programs without HOME. Allocated; NULL: unknown, or no memory. May be called from
 * any thread.
 */
char *home_dir(void);
/* The directory of programs' settings: $XDG_CONFIG_HOME, else ~/.config. As home_dir(). */
char *config_dir(void);
