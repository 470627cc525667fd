/*
 * home.h - where the user who runs us has his own files.
 */
#pragma once

/*
 * $HOME, where it is an absolute path, else what the user database says: mount(8) and systemd start programs without HOME.
 * Allocated; NULL: nobody knows, or no memory. From any thread.
 */
char *home_dir(void);
/* Where programs keep their settings: $XDG_CONFIG_HOME, else ~/.config. As home_dir(). */
char *config_dir(void);
