/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals - those that scrun does not take for itself, and what the next ^C means. Those that were
 * ignored when it began (nohup, the background of a script) stay so.
 */
#ifndef SCHEDULER_SCRUN_SIGNALS_H
#define SCHEDULER_SCRUN_SIGNALS_H

#include <ev.h>

#define SIGNALS_TWICE_S 1.0 /* a second ^C within it ends the job */

enum interrupt {
	INTERRUPT_FORWARD, /* the ranks get it */
	INTERRUPT_END,     /* the job ends now */
	INTERRUPT_LEAVE,   /* so does scrun, whatever becomes of the job */
};

/* Zeroed: there was none yet. */
struct interrupts {
	double last_s;
	unsigned int n;
	int is_ending;
};

/* One more at @now_s. Pure. */
enum interrupt interrupts_judge(struct interrupts *interrupts, double now_s);

struct signals;
typedef void signals_came(int signal, void *owner);

/* NULL: no memory. SIGPIPE and SIGTTIN are ignored from now on. */
struct signals *signals_open(struct ev_loop *loop, signals_came *came, void *owner);
void signals_close(struct signals *signals);
/* Stops this process as ^Z does; returns when it goes on. */
void signals_stop_self(struct signals *signals);

#endif
