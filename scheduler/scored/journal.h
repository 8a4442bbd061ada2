/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * journal - what scored must know after it was killed: the jobs that run and where, the last number
 * given, and the jobs that ended; the leases, and who took one from somebody. One SQLite file; each
 * call is one transaction, which no end of scored undoes. It is on disk when the call returns, but
 * for what is said to be written only: that may be lost when the machine itself fails before the
 * next one that is.
 */
#ifndef SCHEDULER_SCORED_JOURNAL_H
#define SCHEDULER_SCORED_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Ended jobs that are kept, and how many more there may be: to look for the oldest takes longer
 * than to write.
 */
#define JOURNAL_HISTORY 10000
#define JOURNAL_BEYOND 100
#define JOURNAL_NONE "none" /* in the place of a directory: in memory, and gone with us */

struct journal;

/*
 * A job as it stands in the journal. Texts are the caller's when it writes, valid during the call
 * when it reads.
 */
struct journal_job {
	uint64_t id;
	uid_t uid;
	const char *name;
	int64_t submitted, started, ended; /* seconds since the epoch; 0 = not yet */
	uint32_t ranks, hosts;
	int code;
	const char *text;
	const char *order; /* the order as JSON; running jobs only */
};
typedef void journal_each(const struct journal_job *job, void *owner);

/*
 * Opens DIR/journal.sqlite, made if missing, and locks it for us. NULL with a sentence (directory,
 * cause, remedy).
 */
struct journal *journal_open(const char *directory, char *why, size_t why_size);
void journal_close(struct journal *journal);

/* The number for a new job, never given again. 0 with a sentence. */
uint64_t journal_number(struct journal *journal, char *why, size_t why_size);
/* 0 or -errno with a sentence: -ENOSPC full disk, -EIO all else. */
int journal_started(struct journal *journal, const struct journal_job *job, char *why,
		    size_t why_size);
int journal_ended(struct journal *journal, const struct journal_job *job, char *why,
		  size_t why_size);
/* Those that were started and have not ended. 0 or -EIO with a sentence. */
int journal_running(struct journal *journal, journal_each *each, void *owner, char *why,
		    size_t why_size);
/* Those that ended, newest first, at most @most. */
int journal_history(struct journal *journal, size_t most, journal_each *each, void *owner,
		    char *why, size_t why_size);

/* A checkpoint of a job, as all of its hosts have it on disk. */
struct journal_checkpoint {
	uint64_t job, round;
	uid_t uid;
	int64_t taken; /* seconds since the epoch */
	uint64_t bytes;
	const char *order; /* as JSON */
};
typedef void journal_each_checkpoint(const struct journal_checkpoint *checkpoint, void *owner);

/* The number for a checkpoint of @job, never given again for it. 0 with a sentence. */
uint64_t journal_checkpoint_number(struct journal *journal, uint64_t job, char *why,
				   size_t why_size);
/* It is complete. Those of the job before the last one are forgotten. */
int journal_checkpoint_done(struct journal *journal, const struct journal_checkpoint *checkpoint,
			    char *why, size_t why_size);
/* The complete ones of @job, or of all (0), newest first for each job. */
int journal_checkpoints(struct journal *journal, uint64_t job, journal_each_checkpoint *each,
			void *owner, char *why, size_t why_size);

/* All of the job, as if there had been none. */
int journal_checkpoints_forget(struct journal *journal, uint64_t job, char *why, size_t why_size);

/* A lease that is held. */
struct journal_lease {
	uint64_t id; /* journal_lease_number() */
	uid_t uid;
	int64_t since;       /* seconds since the epoch */
	const char *request; /* JSON as lock_request.h reads it, with the hosts that it has */
};
typedef void journal_each_lease(const struct journal_lease *lease, void *owner);

/*
 * The number for a lease. Written only: journal_lease_begun() comes after it in the file, and it is
 * told to nobody before.
 */
uint64_t journal_lease_number(struct journal *journal, char *why, size_t why_size);
int journal_lease_begun(struct journal *journal, const struct journal_lease *lease, char *why,
			size_t why_size);
/*
 * @taker: who ended it that is not its owner, and @text how: kept, the last JOURNAL_HISTORY of
 * them. NULL: it just ended, which is written only: one whose end is lost comes back without a
 * holder, and ends when nobody renews it.
 */
int journal_lease_ended(struct journal *journal, const struct journal_lease *lease,
			const uid_t *taker, const char *text, char *why, size_t why_size);
int journal_leases(struct journal *journal, journal_each_lease *each, void *owner, char *why,
		   size_t why_size);
/* How that user's lease was ended by another: true and the text. */
bool journal_lease_taken(struct journal *journal, uint64_t id, uid_t uid, char *text, size_t size);

#endif
