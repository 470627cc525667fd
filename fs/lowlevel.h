/*
 * lowlevel.h - libfuse's low-level API in the one version that all of fs is written for.
 */
#pragma once

#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 314 /* Debian 12 has 3.14 */
#endif
#include <fuse_lowlevel.h>
