// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_incast BYTES SECONDS - goodput of one receiver, rank 0, while all other ranks send to it
 * without pause: two messages of BYTES are under way from each. The first half second is not
 * counted. Prints MB/s (10^6) and the slowest sender's share of the average as one JSON line. First
 * and last byte are checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDER_WAY 2
#define WARMUP_S 0.5
#define TAG_DATA 1
#define TAG_STOP 2

static char mark(int rank)
{
	return (char)('A' + rank);
}

static void *need(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return p;
}

/* Sends until rank 0 says stop; an empty message is the last. */
static void sender(int bytes, int rank)
{
	MPI_Request requests[UNDER_WAY], stop;
	char *buf = need((size_t)bytes);
	int is_over = 0;

	memset(buf, mark(rank), (size_t)bytes);
	MPI_Irecv(NULL, 0, MPI_CHAR, 0, TAG_STOP, MPI_COMM_WORLD, &stop);
	for (int i = 0; i < UNDER_WAY; i++)
		MPI_Isend(buf, bytes, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
	while (!is_over) {
		int done;

		MPI_Waitany(UNDER_WAY, requests, &done, MPI_STATUS_IGNORE);
		MPI_Test(&stop, &is_over, MPI_STATUS_IGNORE);
		if (!is_over)
			MPI_Isend(buf, bytes, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD,
				  &requests[done]);
	}
	MPI_Waitall(UNDER_WAY, requests, MPI_STATUSES_IGNORE);
	MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD);
	free(buf);
}

struct receiver {
	int senders, bytes;
	char *bufs;            /* UNDER_WAY per sender */
	MPI_Request *requests; /* as many */
	double *counts;        /* messages of each sender that count */
	int finished;          /* senders whose last message has come */
};

static void post(struct receiver *r, int slot)
{
	MPI_Irecv(r->bufs + (size_t)slot * (size_t)r->bytes, r->bytes, MPI_CHAR,
		  slot / UNDER_WAY + 1, TAG_DATA, MPI_COMM_WORLD, &r->requests[slot]);
}

/* One message more, counted if @is_counted. */
static void take(struct receiver *r, int is_counted)
{
	MPI_Status status;
	const char *buf;
	int slot, got;

	MPI_Waitany(r->senders * UNDER_WAY, r->requests, &slot, &status);
	MPI_Get_count(&status, MPI_CHAR, &got);
	buf = r->bufs + (size_t)slot * (size_t)r->bytes;
	if (got == 0) {
		r->finished++;
		return;
	}
	if (buf[0] != mark(status.MPI_SOURCE) || buf[got - 1] != mark(status.MPI_SOURCE)) {
		fprintf(stderr, "mpi_incast: wrong data from rank %d\n", status.MPI_SOURCE);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (is_counted)
		r->counts[slot / UNDER_WAY]++;
	post(r, slot);
}

static void report(const struct receiver *r, double seconds)
{
	double all = 0, least = r->counts[0];

	for (int i = 0; i < r->senders; i++) {
		all += r->counts[i];
		if (r->counts[i] < least)
			least = r->counts[i];
	}
	printf("{\"bytes\": %d, \"mb_per_s\": %.2f, \"least_share\": %.3f}\n", r->bytes,
	       all * r->bytes / seconds / 1e6, all > 0 ? least * r->senders / all : 0);
}

static void receive_all(int senders, int bytes, double seconds)
{
	size_t slots = (size_t)senders * UNDER_WAY;
	struct receiver r = {
		.senders = senders,
		.bytes = bytes,
		.bufs = need(slots * (size_t)bytes),
		.requests = need(slots * sizeof(MPI_Request)),
		.counts = need((size_t)senders * sizeof(double)),
	};
	double start, end;

	for (int i = 0; i < senders * UNDER_WAY; i++)
		post(&r, i);
	for (start = MPI_Wtime(); MPI_Wtime() - start < WARMUP_S;)
		take(&r, 0);
	start = MPI_Wtime();
	do {
		take(&r, 1);
		end = MPI_Wtime();
	} while (end - start < seconds);
	report(&r, end - start);
	for (int i = 1; i <= senders; i++)
		MPI_Send(NULL, 0, MPI_CHAR, i, TAG_STOP, MPI_COMM_WORLD);
	while (r.finished < senders)
		take(&r, 0);
	for (int i = 0; i < senders * UNDER_WAY; i++) {
		if (r.requests[i] == MPI_REQUEST_NULL)
			continue;
		MPI_Cancel(&r.requests[i]);
		MPI_Wait(&r.requests[i], MPI_STATUS_IGNORE);
	}
	free(r.bufs);
	free(r.requests);
	free(r.counts);
}

int main(int argc, char **argv)
{
	int rank, ranks, bytes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
	if (ranks < 2 || bytes < 1)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 0)
		receive_all(ranks - 1, bytes, argc > 2 ? atof(argv[2]) : 2);
	else
		sender(bytes, rank);
	MPI_Finalize();
	return 0;
}
