/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness - who is alive, told by locks on bytes of the segment file. They are open file
 * description locks: the kernel drops them when the process ends, however it ends, and they can be
 * tested from any pid namespace. Byte 0 guards the making and changing of the segment; byte 1 + i
 * is held for its lifetime by the process with slot i. A child made by fork without exec would keep
 * its parent's description, and with it the parent alive: segment.c has such children close it
 * (forked.h).
 */
#ifndef PM_SHMEM_LIVENESS_H
#define PM_SHMEM_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* Waits for the segment lock. -errno. */
int pms_lock(int fd);
/* Takes it if it is free: -EAGAIN when not. */
int pms_trylock(int fd);
void pms_unlock(int fd);

/* Takes the lock of a slot; -EAGAIN when another has it. */
int pms_slot_lock(int fd, uint32_t index);
/* Whether another open file description holds the slot. */
bool pms_slot_is_held(int fd, uint32_t index);
/* The same for any slot at all. */
bool pms_any_slot_is_held(int fd);

#endif
