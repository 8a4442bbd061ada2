/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errand - work for a job that may hang or take long, while scnoded's loop goes on. A child of
 * scnoded does it, and sends back a text. Knows processes and time, not what the work is.
 */
#ifndef SCHEDULER_SCNODED_ERRAND_H
#define SCHEDULER_SCNODED_ERRAND_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#define ERRAND_TEXT_MAX 16384 /* bytes, the end included */

struct errand;

/* A kind of errands: all of them have this. */
struct errand_kind {
	const char *name; /* of the child, as ps shows it; up to 15 bytes */
	/* words of sentences, as in "job 7 on n3 can't be looked at, as ..." */
	const char *cannot; /* "can't be looked at" */
	const char *doing;  /* "looking" */
	const char *has;    /* "looked" */
	/*
	 * Seconds after which it is killed. Such a child ends with scnoded, and is killed first
	 * when memory is short. 0: it is never killed, and goes on without scnoded.
	 */
	unsigned int limit_s;
	/*
	 * In the child, with no descriptor of scnoded's. Writes to @ret, of ERRAND_TEXT_MAX bytes:
	 * "" if all went well.
	 */
	void (*work)(const void *input, char *ret);
	/* Is given the texts of errand_say(). NULL if it says nothing. */
	void (*said)(const char *text, void *owner);
};

/*
 * It has ended, and is gone after the call, as @text is. NULL: the child said nothing; else what it
 * said, or one sentence that says why it has failed.
 */
typedef void errand_done(const char *text, void *owner);

/*
 * For @job on @host, which are for sentences. @loop: the default one, which reaps the child
 * whenever that ends. @kind stays; @input is not needed after the call. @done comes from the loop,
 * also when the child can't be started. NULL: out of memory.
 */
struct errand *errand_start(struct ev_loop *loop, const struct errand_kind *kind, uint64_t job,
			    const char *host, const void *input, errand_done *done, void *owner);
/*
 * In work(): tells scnoded something before the end, as that a part is done. False: scnoded is not
 * there any more.
 */
bool errand_say(const char *text);
/* Kills the child, if that may be, and waits for nothing. @done does not come. NULL is fine. */
void errand_stop(struct errand *errand);

#endif
