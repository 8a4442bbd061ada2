/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thread - for calls in which the kernel waits long (inboxes.c, closer.c). Such threads touch
 * nothing of the daemon.
 */
#ifndef PM_ETHERNET_DAEMON_THREAD_H
#define PM_ETHERNET_DAEMON_THREAD_H

/* Starts @work in a detached thread: 0 or -errno. */
int ethd_thread_start(void *(*work)(void *), void *arg);

#endif
