/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unmap - notices when watched memory gets other pages: munmap, mremap, madvise (DONTNEED, FREE,
 * REMOVE), a mapping placed over it, brk, and what malloc makes of these; by whatever thread, from
 * whatever library. Owns the process's userfaultfd and the thread that reads it. Knows nothing of
 * registrations. Each watch is used by one thread at a time; the functions may be called from
 * several.
 *
 * The kernel lets the unmapping thread go on only after its event was read, so whoever is told
 * about memory at the same address by that thread finds the event in unmap_poll.
 *
 * Watched pages are a mapping of their own for the kernel, as with madvise and mlock: mremap of
 * more than them at once fails with EFAULT (realloc copies then).
 */
#ifndef PM_VERBS_HW_UNMAP_H
#define PM_VERBS_HW_UNMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unmap_watch;

/*
 * 0; -errno when this process can't notice it, with a sentence in @ret_why: then nothing may be
 * kept. A child made by fork() is another process: what it inherited tells it nothing, it may open
 * its own.
 */
int unmap_open(char *ret_why, size_t why_len, struct unmap_watch **ret_watch);
/* The last one ends the thread. NULL is fine. */
void unmap_close(struct unmap_watch *watch);

/*
 * From now on changes of these whole pages are told, until they are unmapped. To be called before
 * they are pinned, so that no change falls between. -EINVAL: of a file, or nothing there; -EBUSY:
 * another userfaultfd of the process has them.
 */
int unmap_add(struct unmap_watch *watch, void *addr, size_t len);
/*
 * Whether all that can change these pages is told: they are there and belong to this process alone.
 * Shared memory can be cut off at its other end. To be called after they were pinned.
 */
bool unmap_is_told_all(struct unmap_watch *watch, const void *addr, size_t len);

/*
 * Calls @gone for each range that has changed since the last call (len SIZE_MAX: for all there is).
 * False: a change is under way somewhere, or nothing is told any more: what is remembered may be
 * stale.
 */
bool unmap_poll(struct unmap_watch *watch, void (*gone)(void *arg, uintptr_t addr, size_t len),
		void *arg);
/* Whether unmap_poll would call @gone, maybe said a moment late; no system call. */
bool unmap_has_news(const struct unmap_watch *watch);

#endif
