/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - files without a name whose pages processes share with us and the kernel. Processes get
 * an open file of their own, so that it can be told whether any of them still has it. Knows nothing
 * of sockets or users.
 */
#ifndef PM_ETHERNET_DAEMON_MEMORY_H
#define PM_ETHERNET_DAEMON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* A file that can't be resized; its descriptor, or -errno. No page is there yet. */
int ethd_memory_make(const char *name, uint64_t bytes);
/* A descriptor of @fd to hand out, or -errno. */
int ethd_memory_lend(int fd);
/* Whoever fills it pays for the pages in its own group of processes. */
bool ethd_memory_is_filled(int fd, uint64_t bytes);
/*
 * Has anybody else the file open, or mapped? Also 1 if it can't be told now; -errno: this kernel
 * never tells.
 */
int ethd_memory_is_lent(int fd);
/* Closes @fd (-1: nothing is done) and frees the pages, unless the kernel works with them. */
void ethd_memory_drop(int fd);

#endif
