/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owndir - the directory in which a daemon keeps its state. Where anybody may make directories,
 * somebody else may have made it first, to read what the daemon writes there or to give it orders.
 * So it is used only if it is ours alone: no link, our own, and not writable by group or others.
 * The same holds for its files.
 */
#ifndef PM_UTIL_OWNDIR_H
#define PM_UTIL_OWNDIR_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Makes the directory @path with @mode if it is missing, and checks it. @what: how messages name it
 * ("state directory"), @option: which option chooses another. 0, or -errno with a sentence.
 */
int owndir_open(const char *path, mode_t mode, const char *what, const char *option, char *why,
		size_t why_size);
/*
 * Checks the file @directory/@name, which may be missing: a regular one of ours under one name.
 * Takes from group and others what they may do with it. 0, or -errno with a sentence.
 */
int owndir_file(const char *directory, const char *name, char *why, size_t why_size);

#endif
