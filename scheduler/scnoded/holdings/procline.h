/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * procline - the lines of files below /proc, decoded: one function for each file. Pure; a line that
 * is not understood is refused and changes nothing.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_PROCLINE_H
#define SCHEDULER_SCNODED_HOLDINGS_PROCLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCLINE_NAME_MAX 64

/* /proc/PID/stat */
struct procline_stat {
	char name[PROCLINE_NAME_MAX]; /* may contain anything */
	char state;
	pid_t parent, session;
	int terminal; /* device number; 0: none */
};

bool procline_stat(const char *line, struct procline_stat *ret);

/* The whole of /proc/PID/task/TID/status: who traces the thread, 0 for nobody, and its state. */
struct procline_status {
	char state;
	pid_t tracer;
};

bool procline_status(const char *text, struct procline_status *ret);

/* The sum of the lines of /proc/PID/fdinfo/FD: zero it before the first. */
struct procline_fdinfo {
	uint64_t offset;
	uint32_t flags;
	int mount;        /* number in mountinfo */
	uint32_t watches; /* of inotify */
	pid_t target;     /* of a pidfd; -1: it has ended; 0: no pidfd; else see below */
	bool is_locked;
};

/* A pidfd leads to a process that our pid namespace does not have: no process has this number. */
#define PROCLINE_ELSEWHERE INT32_MAX

/* Lines of other kinds change nothing. */
void procline_fdinfo(const char *line, struct procline_fdinfo *sum);

/* A line of an epoll's fdinfo: what it watches. False: another line. */
struct procline_watch {
	int target;             /* descriptor */
	uint64_t device, inode; /* makedev() */
};

bool procline_watch(const char *line, struct procline_watch *ret);

/* /proc/PID/maps */
struct procline_mapping {
	uint64_t start, end;
	uint64_t device, inode; /* makedev(); 0: no file */
	bool is_shared, is_writable;
	char *name; /* within @line, without the escapes; "" for anonymous memory */
};

/* Writes into @line. */
bool procline_mapping(char *line, struct procline_mapping *ret);

/* /proc/PID/mountinfo: the number of a mount, and whether it is a file system of message queues. */
struct procline_mount {
	int id;
	bool is_queue;
};

bool procline_mount(const char *line, struct procline_mount *ret);

/* /proc/net/netlink; false for the line of headings, too. */
struct procline_netlink {
	uint8_t protocol;
	uint32_t unread; /* bytes */
	uint64_t inode;
};

bool procline_netlink(const char *line, struct procline_netlink *ret);

/* The inode in "pipe:[4711]" or "socket:[4711]", by @kind ("pipe"); 0: it is no such name. */
uint64_t procline_inode(const char *name, const char *kind);

#endif
