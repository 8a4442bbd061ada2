/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper - a process between the agent and one command: what the command starts and loses becomes
 * the keeper's, so that all of it can be found. It ends with the command, whose other processes
 * then live on; but when it is told to kill, or the agent is gone, nothing of the command is left.
 *
 * Its control link to the agent is a SOCK_SEQPACKET pair. The agent says numbers of signals (int):
 * to the command's process group, but SIGKILL to everything below the keeper. The end of the
 * control link: SIGHUP to the group, SIGKILL to all that is left after KEEPER_GRACE_S. The keeper
 * says one struct keeper_report, its last word.
 */
#ifndef SCHEDULER_SCREMOTE_KEEPER_H
#define SCHEDULER_SCREMOTE_KEEPER_H

#include <sys/types.h>

#include "scheduler/scremote/message.h"

#define KEEPER_GRACE_S 2
#define KEEPER_TEXT_MAX 1024

struct keeper_report {
	int status; /* of waitpid(2) */
	int error;  /* errno: it could not be started */
	char text[KEEPER_TEXT_MAX];
};

struct keeper_plan {
	const struct message *run;
	const char *host, *home;
	int control;
	int stdio[3];
};

/* Its pid, or -errno. */
pid_t keeper_fork(const struct keeper_plan *plan);

#endif
