/*
 * lift.h - opening one's own file although its mode forbids it.
 *
 * An open descriptor may write to a file whose mode is 0444 by now (git writes its objects so); the verbs know only the
 * path. So the owner's bits are set for the moment of the open and put back right after, all other bits as they were.
 */
#pragma once

/* The open of pin_open() for a regular file held with O_PATH: -1 and EACCES where the file is not ours. */
int lift_and_open(int pin, int flags);
