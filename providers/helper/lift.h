/*
 * lift.h - opening one's own file although its mode forbids it.
 *
 * An open descriptor may write to a file whose mode became 0444 since (git writes its objects so),
 * but the verbs know only the path. So the owner's bits are set for the moment of the open and put
 * back right after; all other bits stay as they were.
 */
#pragma once

/* pin_open() of a regular file held with O_PATH: -1 and EACCES where the file has another owner. */
int lift_and_open(int pin, int flags);
