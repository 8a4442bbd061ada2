/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet - how two processes find each other before PM can carry messages: one waits on a TCP port,
 * the other calls it, and each tells the other some bytes. A launcher such as scrun does this for
 * programs that use PMIx or MPI. Every function prints a line about what went wrong.
 */
#ifndef MEET_H
#define MEET_H

#include <stddef.h>

/*
 * A connection to who called @port of this host, or to @host that waits there or does so within 10
 * s; -1.
 */
int meet_wait(const char *port);
int meet_call(const char *host, const char *port);

/* Tells @len bytes and hears as many of the other side; 0, or -1. */
int meet_exchange(int connection, const void *mine, void *theirs, size_t len);

#endif
