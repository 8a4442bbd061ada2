/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ends - the pipes and the control link between the agent and one of its processes: ours in [0],
 * the other's in [1].
 */
#ifndef SCHEDULER_SCREMOTE_ENDS_H
#define SCHEDULER_SCREMOTE_ENDS_H

/* -1: there is none. */
struct ends {
	int control[2]; /* SOCK_SEQPACKET */
	int in[2];      /* what we write */
	int out[2], err[2];
};

#define ENDS_NONE                                                                                  \
	(struct ends)                                                                              \
	{                                                                                          \
		{-1, -1}, {-1, -1}, {-1, -1},                                                      \
		{                                                                                  \
			-1, -1                                                                     \
		}                                                                                  \
	}

/* 0 or -errno. */
int ends_open_control(struct ends *ends);
/* A pipe whose end @ours (as pipe(2) numbers them) is ours, who never wait for it. */
int ends_make_pipe(int ret[2], int ours);
void ends_close(const struct ends *ends, int side);

#endif
