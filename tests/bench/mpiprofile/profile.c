// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpiprofile.so - loaded before an MPI program (LD_PRELOAD), it takes the time of each MPI call
 * that communicates or waits. Owns the counts, and the file that a rank writes them to in
 * MPI_Finalize: $MPIPROFILE.RANK, one JSON object. Knows nothing of the arguments of a call but
 * their bytes.
 *
 * Counts are kept for each call and power of two of the bytes. Each thread has its own, so that
 * counting takes no lock.
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/mpiprofile/profile.h"

#define CLASSES 41 /* 0 bytes; 1; 2 and 3; 4 to 7; ... */

struct count {
	uint64_t calls, ns;
};

/* Of one thread; lives until the process ends. */
struct counts {
	struct counts *next;
	struct count of[PROFILE_CALL_COUNT][CLASSES];
	uint64_t bytes[PROFILE_CALL_COUNT];
};

static const char *const names[] = {
#define PROFILE_NAME(name) "MPI_" #name,
	PROFILE_CALLS(PROFILE_NAME)
#undef PROFILE_NAME
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counts *all; /* under lock */
static __thread struct counts *mine;
static __thread unsigned depth;
static uint64_t begin_ns;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "mpiprofile: %s: %s\n", what, why);
	abort();
}

static void join(void)
{
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		die("counts of a thread", strerror(ENOMEM));
	pthread_mutex_lock(&lock);
	mine->next = all;
	all = mine;
	pthread_mutex_unlock(&lock);
}

struct profile_scope profile_enter(void)
{
	return (struct profile_scope){depth++ ? 0 : now_ns()};
}

/* Class k > 0 holds 2^(k-1) to 2^k - 1 bytes, the last one all above. */
static unsigned class_of(uint64_t bytes)
{
	unsigned k = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return k < CLASSES ? k : CLASSES - 1;
}

void profile_leave(struct profile_scope scope, enum profile_call call, uint64_t bytes)
{
	struct count *count;

	depth--;
	if (!scope.from_ns)
		return;
	if (!mine)
		join();
	count = &mine->of[call][class_of(bytes)];
	count->calls++;
	count->ns += now_ns() - scope.from_ns;
	mine->bytes[call] += bytes;
}

void profile_begin(void)
{
	begin_ns = now_ns();
}

/* All threads together; threads that still count meanwhile may be missed by a call. */
static struct counts *summed(void)
{
	struct counts *sum = calloc(1, sizeof(*sum));

	if (!sum)
		die("sum of the counts", strerror(ENOMEM));
	pthread_mutex_lock(&lock);
	for (const struct counts *each = all; each; each = each->next)
		for (int call = 0; call < PROFILE_CALL_COUNT; call++) {
			for (int k = 0; k < CLASSES; k++) {
				sum->of[call][k].calls += each->of[call][k].calls;
				sum->of[call][k].ns += each->of[call][k].ns;
			}
			sum->bytes[call] += each->bytes[call];
		}
	pthread_mutex_unlock(&lock);
	return sum;
}

/* "MPI_Send":{"calls":3,"seconds":0.1,"bytes":24,"sizes":[[8,3,0.1]]}: of sizes the lower end of a
 * class, its calls and seconds. Says whether the call was made at all. */
static int print_call(FILE *f, const struct counts *sum, int call, const char *separator)
{
	uint64_t calls = 0, ns = 0;
	const char *comma = "";

	for (int k = 0; k < CLASSES; k++) {
		calls += sum->of[call][k].calls;
		ns += sum->of[call][k].ns;
	}
	if (!calls)
		return 0;
	fprintf(f, "%s\"%s\":{\"calls\":%llu,\"seconds\":%.9f,\"bytes\":%llu,\"sizes\":[",
		separator, names[call], (unsigned long long)calls, (double)ns / 1e9,
		(unsigned long long)sum->bytes[call]);
	for (int k = 0; k < CLASSES; k++) {
		const struct count *count = &sum->of[call][k];

		if (!count->calls)
			continue;
		fprintf(f, "%s[%llu,%llu,%.9f]", comma, k ? 1ull << (k - 1) : 0ull,
			(unsigned long long)count->calls, (double)count->ns / 1e9);
		comma = ",";
	}
	fputs("]}", f);
	return 1;
}

static void print(FILE *f, int rank, int ranks, double wall_s)
{
	struct counts *sum = summed();
	const char *separator = "";
	uint64_t ns = 0;

	for (int call = 0; call < PROFILE_CALL_COUNT; call++)
		for (int k = 0; k < CLASSES; k++)
			ns += sum->of[call][k].ns;
	fprintf(f, "{\"rank\":%d,\"ranks\":%d,\"wall_s\":%.9f,\"mpi_s\":%.9f,\"calls\":{", rank,
		ranks, wall_s, (double)ns / 1e9);
	for (int call = 0; call < PROFILE_CALL_COUNT; call++)
		if (print_call(f, sum, call, separator))
			separator = ",";
	fputs("}}\n", f);
	free(sum);
}

void profile_end(void)
{
	double wall_s = (double)(now_ns() - begin_ns) / 1e9;
	const char *base = getenv("MPIPROFILE");
	char path[4096];
	int rank, ranks;
	FILE *f;

	if (!base)
		die("MPIPROFILE is not set",
		    "name the files to write, for example MPIPROFILE=/tmp/profile");
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (snprintf(path, sizeof(path), "%s.%d", base, rank) >= (int)sizeof(path))
		die(base, strerror(ENAMETOOLONG));
	f = fopen(path, "w");
	if (!f)
		die(path, strerror(errno));
	print(f, rank, ranks, wall_s);
	if (fclose(f))
		die(path, strerror(errno));
}
