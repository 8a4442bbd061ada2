/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * design - what a way of sending messages has to offer: three calls, and its steps told to a stop
 * watch. Each design moves the bytes of one message at a time, in order and without loss, which a
 * veth with enough room at both ends does by itself.
 */
#ifndef TESTS_BENCH_DESIGNS_DESIGN_H
#define TESTS_BENCH_DESIGNS_DESIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tests/bench/designs/meet.h"

#define MESSAGE_MAX (1 << 20) /* bytes */

/*
 * The steps of a rank with a message, as the program sees them. A call that blocks is a step as a
 * whole.
 */
enum step {
	STEP_BUILD, /* data copied into frames or buffers of the library, by the program */
	STEP_SEND,  /* the calls that send */
	STEP_WAIT,  /* looked, and found nothing */
	/* the call that brought data; with a call that blocks: also the sleep in it */
	STEP_RECEIVE,
	STEP_UNPACK, /* data copied into place by the program */
	STEPS
};

struct watch {
	bool is_on;
	uint64_t last_ns;
	uint64_t ns[STEPS]; /* since it was reset */
	uint64_t idle;      /* looks that found nothing; counted always */
};

struct end {
	const struct design *design;
	const char *interface; /* whose cable is taken */
	size_t mtu;            /* of that interface, bytes */
	uint64_t pause_ns;     /* longest pause of rank 0 before a round trip; 0: none */
	uint64_t paused_ns;    /* how long all pauses were */
	struct watch watch;
	void *own; /* of the design */
};

struct design {
	const char *name;
	const char *about; /* one line, for people */
	bool is_blocking;  /* a rank that waits sleeps in the kernel */
	/* Opens and meets the other rank's end. Ends the program if that can't be. */
	void (*open)(struct end *end);
	/* Sends one message. */
	void (*send)(struct end *end, const unsigned char *data, size_t bytes);
	/* Copies the next bytes of the message to @to, at most @room; their number, 0: none yet. */
	size_t (*take)(struct end *end, unsigned char *to, size_t room);
	/*
	 * Until all of it has left: from then on the rank may do something else. NULL: it has when
	 * send() returns.
	 */
	void (*settle)(struct end *end);
	/* Frees what would outlive the process; NULL: nothing does. */
	void (*close)(struct end *end);
};

extern const struct design tcp_block, tcp_poll;
extern const struct design udp_block, udp_poll, udp_batch, udp_gso_block, udp_gso_poll;
extern const struct design packet_block, packet_poll;
extern const struct design xdp_block, xdp_poll;
extern const struct design pm_direct, pm_port, pm_udp, pm_shmem, pm_direct_block;

static inline uint64_t watch_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* That step was done since the last lap. */
static inline void lap(struct end *end, enum step step)
{
	struct watch *watch = &end->watch;
	uint64_t now;

	if (!watch->is_on)
		return;
	now = watch_now_ns();
	watch->ns[step] += now - watch->last_ns;
	watch->last_ns = now;
}

/* A look that found nothing. */
static inline size_t nothing(struct end *end)
{
	end->watch.idle++;
	lap(end, STEP_WAIT);
	return 0;
}

#endif
