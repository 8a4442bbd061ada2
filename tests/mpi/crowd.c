// SPDX-License-Identifier: BSD-3-Clause
/*
 * Many messages of some KiB in flight: bursts that are large enough to be announced and read, among
 * them short ones, synchronous ones, packed ones and some that are cut off. One way and both ways
 * between the ranks of a pair, with receives posted before and after, and from all ranks to one.
 * Data, order and statuses are checked.
 */
#include "tests/mpi/check.h"

#include <stdbool.h>
#include <unistd.h>

enum { BURST = 64, LONGEST = 200000, ROUNDS = 4, TAG = 5 };

/*
 * A rank that computes for so long keeps no others from getting through to each other. Where there
 * are no others it only comes late.
 */
#define AWAY_S 3.0
#define LATE_S 0.3

/* The messages of one burst at one side. */
struct burst {
	unsigned char *buf[BURST];
	MPI_Request requests[BURST];
};

static struct burst out, in, others;
static MPI_Datatype every_other;
static useconds_t pause_us; /* between sends and waits */

/* One byte more than the longest takes, which stays 0. */
static void make(struct burst *b)
{
	for (int i = 0; i < BURST; i++) {
		b->buf[i] = calloc(1, LONGEST + 1);
		CHECK(b->buf[i], "no memory");
	}
}

/* Every fifth is short, the others are around @length. */
static int length_of(int length, int i)
{
	if (i % 5 == 1)
		return 100 + i;
	return length + i * 64 > LONGEST ? length : length + i * 64;
}

static bool is_packed(int i)
{
	return i % 11 == 4;
}

/* Cut off at half of its length. */
static bool is_cut(int i)
{
	return i % 13 == 6;
}

static uint64_t seed_of(int from, int round, int i)
{
	return (uint64_t)((from * ROUNDS + round) * BURST + i);
}

/* A synchronous one ends a burst, so there are some in each second round only. */
static bool is_sync(int round, int i)
{
	return round % 2 && i % 7 == 3;
}

/*
 * All are written before the first is sent: a program that computes in between is no case for
 * bursts.
 */
static void start_sends(int to, int length, int round)
{
	for (int i = 0; i < BURST; i++)
		fill(out.buf[i], (size_t)length_of(length, i), seed_of(check_rank, round, i));
	for (int i = 0; i < BURST; i++) {
		int n = length_of(length, i);

		if (is_packed(i))
			MPI_Isend(out.buf[i], n / 64, every_other, to, TAG, MPI_COMM_WORLD,
				  &out.requests[i]);
		else if (is_sync(round, i))
			MPI_Issend(out.buf[i], n, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
				   &out.requests[i]);
		else
			MPI_Isend(out.buf[i], n, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
				  &out.requests[i]);
	}
}

static void start_receives(struct burst *b, int from, int length)
{
	for (int i = 0; i < BURST; i++) {
		int n = length_of(length, i);

		memset(b->buf[i], 0, (size_t)n + 1);
		if (is_packed(i))
			n = n / 64 * 32;
		MPI_Irecv(b->buf[i], is_cut(i) ? n / 2 : n, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
			  &b->requests[i]);
	}
}

static size_t first_wrong_packed(const unsigned char *buf, size_t length, uint64_t seed)
{
	size_t i = 0;

	while (i < length && buf[i] == pattern(seed, i / 32 * 64 + i % 32))
		i++;
	return i;
}

static void check_one(const unsigned char *buf, int from, int length, int round, int i)
{
	size_t n = (size_t)length_of(length, i), wrong;
	uint64_t seed = seed_of(from, round, i);

	if (is_packed(i))
		n = n / 64 * 32;
	if (is_cut(i))
		n /= 2;
	wrong = is_packed(i) ? first_wrong_packed(buf, n, seed) : first_wrong(buf, n, seed);
	CHECK(wrong == n, "byte %zu of %zu of message %d from rank %d, around %d bytes", wrong, n,
	      i, from, length);
	CHECK(!buf[n], "byte behind message %d from rank %d, around %d bytes", i, from, length);
}

static void end_receives(struct burst *b, int from, int length, int round)
{
	for (int i = 0; i < BURST; i++) {
		MPI_Status status;
		int rc = MPI_Wait(&b->requests[i], &status), class;

		MPI_Error_class(rc, &class);
		CHECK(class == (is_cut(i) ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
		      "message %d ended by %d", i, class);
		CHECK(status.MPI_SOURCE == from && status.MPI_TAG == TAG,
		      "message %d of rank %d, tag %d", i, status.MPI_SOURCE, status.MPI_TAG);
		check_one(b->buf[i], from, length, round, i);
	}
}

/* The other one has sent what it has to send, and announced what it does not send unasked. */
static void let_arrive(int partner)
{
	MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, TAG + 1, NULL, 0, MPI_BYTE, partner, TAG + 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* @is_late: the receives are posted after everything was announced. */
static void exchange(int partner, int length, int round, bool sends_too, bool receives_too,
		     bool is_late)
{
	if (receives_too && !is_late)
		start_receives(&in, partner, length);
	if (sends_too)
		start_sends(partner, length, round);
	if (sends_too)
		usleep(pause_us);
	if (is_late)
		let_arrive(partner);
	if (receives_too && is_late)
		start_receives(&in, partner, length);
	if (receives_too)
		end_receives(&in, partner, length, round);
	if (sends_too)
		MPI_Waitall(BURST, out.requests, MPI_STATUSES_IGNORE);
}

static void as_pairs(int length)
{
	int partner = check_rank ^ 1;

	if (partner >= check_size)
		return;
	for (int round = 0; round < ROUNDS; round++) {
		exchange(partner, length, round, check_rank % 2, !(check_rank % 2), round % 2);
		exchange(partner, length, round, true, true, round % 2);
	}
}

static void to_one(int length)
{
	if (check_rank) {
		start_sends(0, length, 0);
		MPI_Waitall(BURST, out.requests, MPI_STATUSES_IGNORE);
		return;
	}
	for (int from = check_size - 1; from > 0; from--) {
		start_receives(&in, from, length);
		end_receives(&in, from, length, 0);
	}
}

/*
 * Rank 1 has announced more than rank 0 reads at a time, and serves nothing for a while; the others
 * don't wait for it. They leave the cores alone until it is back.
 */
static void one_computes(int length)
{
	double begin, away = check_size > 2 ? AWAY_S : LATE_S;

	for (int round = 0; round < 2 && check_rank; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		start_sends(0, length, 0);
		if (check_rank == 1 && round)
			usleep((useconds_t)(away * 1e6));
		MPI_Waitall(BURST, out.requests, MPI_STATUSES_IGNORE);
		if (check_rank > 1 && round)
			usleep((useconds_t)(away * 1e6));
	}
	for (int round = 0; round < 2 && !check_rank; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		start_receives(&others, 1, length);
		begin = MPI_Wtime();
		for (int from = 2; from < check_size; from++) {
			start_receives(&in, from, length);
			end_receives(&in, from, length, 0);
		}
		CHECK(!round || MPI_Wtime() - begin < 0.75 * away,
		      "waited for a rank that computes");
		end_receives(&others, 1, length, 0);
	}
}

int main(int argc, char **argv)
{
	static const int lengths[] = {7000, 12000, 30000, 65000, 131072, 180000};

	check_start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Type_vector(1, 32, 64, MPI_BYTE, &every_other);
	MPI_Type_create_resized(every_other, 0, 64, &every_other);
	MPI_Type_commit(&every_other);
	make(&out);
	make(&in);
	make(&others);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
		as_pairs(lengths[k]);
		to_one(lengths[k]);
	}
	one_computes(140000);
	/* last, as nothing is announced for a while after this */
	pause_us = 3000;
	as_pairs(30000);
	MPI_Type_free(&every_other);
	return check_end("crowd");
}
