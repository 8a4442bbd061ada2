/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that is shared by the MPI programs that measure many sizes in one run. Owns the common
 * options, the length of batches, the time that a size gets, the check of data, and the JSON line
 * per size. Knows nothing of what an operation is.
 *
 * Rank 0 decides everything and tells the other ranks between batches, never within one. The clock
 * is read once per batch; the median over batches counts.
 *
 * Ranks 0 and 1 may share a file, on one machine only. Then they measure the cache line time
 * between their cores before and after each size. So a comparison can take sizes that were measured
 * in one state of the machine. The state often changes while mpirun starts, because both cores are
 * idle then. It seldom changes while both are busy.
 */
#ifndef TESTS_BENCH_SRC_SWEEP_H
#define TESTS_BENCH_SRC_SWEEP_H

#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/src/line.h"
#include "tests/mpi/check.h"

#define SWEEP_OPTIONS "Wt:o:l:n:f:"
#define SWEEP_USAGE "[-W] [-t MILLISECONDS | -o OPERATIONS] [-l FILE] [-n NS | -f NS]"
#define SWEEP_HELP                                                                                 \
	"  -W  write the data of each message again before it is sent\n"                           \
	"  -t  time of the batches of one size (default: 40)\n"                                    \
	"  -o  so many operations in one batch, for counting, not for times\n"                     \
	"  -l  file that ranks 0 and 1 share to measure the cache line time\n"                     \
	"  -n  wait for a cache line time below NS, -f: of NS or more; a few seconds at most\n"

#define SWEEP_BATCH_S 1e-3  /* of a batch, where the program says nothing else */
#define SWEEP_WARM_S 5e-3   /* operations before the first batch that counts */
#define SWEEP_TRIES_MIN 3   /* batches before the first batch that counts, unless they are long */
#define SWEEP_LONG_S 20e-3  /* longer operations are neither warmed up nor checked twice */
#define SWEEP_BATCHES_MIN 3 /* unless the time is over four times */
#define SWEEP_BATCHES_KEPT 4096 /* the last ones; the result is their median */
#define SWEEP_PROBE_NS 5e5      /* time of one measurement of the cache line */
#define SWEEP_JOINED 64         /* where the shared file counts ranks that came, in its words */
#define SWEEP_NAP_US 20000      /* idle cores are what lets the state change */
#define SWEEP_SEEK_S 4.0        /* to wait for the state, in one run of the program */
#define SWEEP_SHIFTS 1021 /* messages of different seeds begin at different bytes of the pattern */
#define SWEEP_SHIFT 61

struct sweep {
	double budget_s;  /* time of the batches of one size, s */
	double batch_s;   /* what a batch takes if one operation does not take longer, s */
	int operations;   /* of the only batch; 0: as time allows */
	bool writes;      /* each message's data before it is sent, */
	bool is_timed;    /* within a batch */
	double below_ns;  /* wait for a cache line time below it; 0: do not wait */
	double above_ns;  /* wait for at least that; 0: do not wait */
	double seek_s;    /* time left to wait, s */
	const char *file; /* shared by ranks 0 and 1; NULL: none */
	line_t *line;     /* in the shared file; NULL: no measurement */
	long meetings;    /* of ranks 0 and 1 in the shared file, so far */
};

/* The operations whose time is measured; every rank calls them in the same order. */
struct sweep_work {
	void *what;
	int most;                            /* operations in one batch at most */
	void (*prepare)(void *what, int n);  /* before the clock is read; may be NULL */
	void (*run)(void *what, int n);      /* @n operations, timed */
	void (*check)(void *what, int seed); /* one operation with fresh data, checked */
};

struct sweep_result {
	double us;        /* of one operation, median over batches */
	int batches, n;   /* how many, of how many operations */
	double before_ns; /* cache line time; 0: not measured */
	double after_ns;
	double from_ns, to_ns; /* CLOCK_MONOTONIC around the batches */
};

static struct sweep sweep = {.budget_s = 0.04, .batch_s = SWEEP_BATCH_S, .seek_s = SWEEP_SEEK_S};
static unsigned char *sweep_pattern;

/* --- start ------------------------------------------------------------------------------------ */

/* Takes an option of SWEEP_OPTIONS; false: it is none of them. */
static inline bool sweep_option(int option, const char *value)
{
	switch (option) {
	case 'W':
		sweep.writes = true;
		return true;
	case 't':
		sweep.budget_s = atof(value) / 1e3;
		return sweep.budget_s > 0;
	case 'o':
		sweep.operations = atoi(value);
		return sweep.operations > 0;
	case 'l':
		sweep.file = value;
		return true;
	case 'n':
		sweep.below_ns = atof(value);
		return true;
	case 'f':
		sweep.above_ns = atof(value);
		return true;
	default:
		return false;
	}
}

static inline size_t sweep_bytes(const char *word)
{
	return strtoul(word, NULL, 0);
}

/* The largest of the sizes, of which there must be at least one. */
static inline size_t sweep_most(char **words, void (*usage)(void))
{
	size_t most = 0;

	for (int i = 0; words[i]; i++) {
		if (sweep_bytes(words[i]) == 0)
			usage();
		if (sweep_bytes(words[i]) > most)
			most = sweep_bytes(words[i]);
	}
	if (!most)
		usage();
	return most;
}

static inline void sweep_map_line(int flags)
{
	int fd = open(sweep.file, O_RDWR | O_CLOEXEC | flags, 0600);

	CHECK(fd >= 0 && !ftruncate(fd, 4096), "%s: cannot be opened", sweep.file);
	sweep.line = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(sweep.line != MAP_FAILED, "%s: cannot be mapped", sweep.file);
	close(fd);
}

/* Both ranks must see one file, else the first measurement would wait for ever. */
static inline void sweep_share_line(void)
{
	const long mark = 0x6c696e65;

	if (check_rank == 0) {
		unlink(sweep.file);
		sweep_map_line(O_CREAT | O_EXCL);
		atomic_store(sweep.line, mark);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1) {
		sweep_map_line(0);
		CHECK(atomic_load(sweep.line) == mark, "%s: ranks 0 and 1 do not share this file",
		      sweep.file);
		atomic_store(sweep.line, 0);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 0)
		unlink(sweep.file);
}

/* After the options are read. @most: bytes of the largest message. */
static inline void sweep_start(size_t most)
{
	sweep_pattern = malloc(most + SWEEP_SHIFTS * SWEEP_SHIFT);
	CHECK(sweep_pattern, "no memory for %zu bytes", most);
	fill(sweep_pattern, most + SWEEP_SHIFTS * SWEEP_SHIFT, 1);
	if (sweep.file)
		sweep_share_line();
}

static inline void *sweep_memory(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED, "no memory for %zu bytes", bytes);
	return memory;
}

/* --- data ------------------------------------------------------------------------------------- */

/* The data of a message of this seed. There are @most bytes of them, as given to sweep_start(). */
static inline const unsigned char *sweep_data(int seed)
{
	return sweep_pattern + seed % SWEEP_SHIFTS * SWEEP_SHIFT;
}

/*
 * Writes the data of a message before it is sent, with -W, as a program does that computes them.
 * They come from the caches of this core then, where a buffer that is only sent lies in those of
 * both. Does nothing outside of batches, where data are checked. @i: any number.
 */
static inline void sweep_write(void *buf, size_t bytes, int i)
{
	if (sweep.writes && sweep.is_timed)
		memset(buf, i, bytes);
}

/* Ends the job unless @buf holds the message of that seed. */
static inline void sweep_must_hold(const void *buf, size_t bytes, int seed)
{
	const unsigned char *is = buf, *expected = sweep_data(seed);
	size_t at = 0;

	if (memcmp(is, expected, bytes) == 0)
		return;
	while (is[at] == expected[at])
		at++;
	CHECK(is[at] == expected[at],
	      "wrong data: byte %zu of a message of %zu bytes is 0x%02x, expected 0x%02x", at,
	      bytes, is[at], expected[at]);
}

/* --- one size --------------------------------------------------------------------------------- */

/* All ranks get what rank 0 says. */
static inline int sweep_tell(int what)
{
	MPI_Bcast(&what, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return what;
}

/*
 * Waits in memory until both ranks are here. A message of the last operation may still be on its
 * way, although its sender is done with it, and may need the sender's part of MPI.
 */
static inline void sweep_meet(void)
{
	_Atomic long *joined = &sweep.line[SWEEP_JOINED];
	long all = 2 * ++sweep.meetings;
	int unused;

	atomic_fetch_add(joined, 1);
	while (atomic_load(joined) < all)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &unused, MPI_STATUS_IGNORE);
}

/* The cache line time now, at rank 0; 0 where it is not measured. */
static inline double sweep_probe(void)
{
	double ns = 0;

	if (!sweep.line || check_rank > 1)
		return 0;
	sweep_meet();
	if (check_rank == 0)
		ns = line_ask(sweep.line, SWEEP_PROBE_NS);
	else
		line_answer(sweep.line);
	return ns;
}

/* Waits, within limits, for the state that is asked for. Returns the cache line time. */
static inline double sweep_settle(void)
{
	for (;;) {
		double ns = sweep_probe();
		bool is_wrong = sweep.line && ((sweep.below_ns > 0 && ns >= sweep.below_ns) ||
					       (sweep.above_ns > 0 && ns < sweep.above_ns));

		if (!sweep_tell(is_wrong && sweep.seek_s > 0))
			return ns;
		sweep.seek_s -= SWEEP_NAP_US / 1e6;
		usleep(SWEEP_NAP_US);
	}
}

/* The time of @n operations, s. */
static inline double sweep_batch(const struct sweep_work *work, int n)
{
	double start, took;

	if (work->prepare)
		work->prepare(work->what, n);
	MPI_Barrier(MPI_COMM_WORLD);
	sweep.is_timed = true;
	start = MPI_Wtime();
	work->run(work->what, n);
	took = MPI_Wtime() - start;
	sweep.is_timed = false;
	return took;
}

static inline bool is_warm(double spent, int batches)
{
	return spent >= SWEEP_LONG_S || (spent >= SWEEP_WARM_S && batches >= SWEEP_TRIES_MIN);
}

/*
 * How many operations make a batch. Warms up all that is used. The batches until then count little:
 * they may be slow for other reasons. A batch that the next one doubles was too short to tell
 * anything.
 */
static inline int sweep_calibrate(const struct sweep_work *work)
{
	bool was_warm = false;
	double spent = 0;
	int n = 1;

	for (int tries = 1;; tries++) {
		double took = sweep_batch(work, n);
		double fitting = took > 0 ? n * sweep.batch_s / took : 2.0 * n;
		int next = fitting > 2.0 * n ? 2 * n : fitting < 1 ? 1 : (int)fitting;

		spent += took;
		next = sweep_tell(next < work->most ? next : work->most);
		if (sweep_tell(was_warm && next < 2 * n))
			return next;
		was_warm = is_warm(spent, tries);
		n = next;
	}
}

static inline bool is_over(int batches, double spent)
{
	if (sweep.operations || spent >= 4 * sweep.budget_s)
		return true;
	return batches >= SWEEP_BATCHES_MIN && spent >= sweep.budget_s;
}

/* Measures one size. The result is rank 0's. */
static inline struct sweep_result sweep_measure(const struct sweep_work *work)
{
	static double times[SWEEP_BATCHES_KEPT];
	struct sweep_result result = {0};
	double spent = 0;
	int kept;

	work->check(work->what, 1);
	result.before_ns = sweep_settle();
	result.n = sweep.operations ? sweep.operations : sweep_calibrate(work);
	result.from_ns = line_now_ns();
	do {
		double took = sweep_batch(work, result.n);

		spent += took;
		times[result.batches++ % SWEEP_BATCHES_KEPT] = took / result.n * 1e6;
	} while (!sweep_tell(is_over(result.batches, spent)));
	result.to_ns = line_now_ns();
	result.after_ns = sweep_probe();
	kept = result.batches < SWEEP_BATCHES_KEPT ? result.batches : SWEEP_BATCHES_KEPT;
	qsort(times, (size_t)kept, sizeof(*times), line_by_value);
	result.us = times[kept / 2];
	if (sweep_tell(result.us < SWEEP_LONG_S * 1e6))
		work->check(work->what, 2);
	return result;
}

/*
 * The JSON line of one size; @key and @value: what was measured. @more: further members, each after
 * a comma.
 */
static inline void sweep_print_more(size_t bytes, const char *key, double value, const char *more,
				    const struct sweep_result *result)
{
	if (check_rank)
		return;
	printf("{\"bytes\": %zu, \"%s\": %.4f, \"batches\": %d, \"operations\": %d%s", bytes, key,
	       value, result->batches, result->n, more);
	printf(", \"from_ns\": %.0f, \"to_ns\": %.0f", result->from_ns, result->to_ns);
	if (sweep.line)
		printf(", \"line_ns\": [%.1f, %.1f]", result->before_ns, result->after_ns);
	printf("}\n");
	fflush(stdout);
}

static inline void sweep_print(size_t bytes, const char *key, double value,
			       const struct sweep_result *result)
{
	sweep_print_more(bytes, key, value, "", result);
}

#endif
