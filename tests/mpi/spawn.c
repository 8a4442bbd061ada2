// SPDX-License-Identifier: BSD-3-Clause
/*
 * Dynamic processes within one mpirun: spawned children talk with their parents over the
 * intercommunicator and a merged one; then the two halves of the job meet by accept and connect.
 * "before FILE": that file is waited for first. "behind FILE": it is waited for when the children
 * have ended; FILE.there is made then.
 */
#include "tests/mpi/check.h"

#include <unistd.h>

enum { CHILDREN = 2, LONG = 300000 };

/* Both sides send every remote rank a short and a long message. */
static void greet(MPI_Comm inter, int rank, const char *who)
{
	char *out = malloc(LONG), *in = malloc(LONG);
	int peers;

	MPI_Comm_remote_size(inter, &peers);
	for (int len = 8; len <= LONG; len += LONG - 8) {
		for (int p = 0; p < peers; p++) {
			MPI_Request req;

			fill(out, (size_t)len, (uint64_t)(rank + 1));
			MPI_Isend(out, len, MPI_BYTE, p, 1, inter, &req);
			MPI_Recv(in, len, MPI_BYTE, p, 1, inter, MPI_STATUS_IGNORE);
			CHECK(first_wrong(in, (size_t)len, (uint64_t)(p + 1)) == (size_t)len,
			      "%s: %d bytes of %d", who, len, p);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		}
	}
	free(out);
	free(in);
}

static void merge(MPI_Comm inter, int is_high)
{
	MPI_Comm all;
	int one = 1, sum, size;

	MPI_Intercomm_merge(inter, is_high, &all);
	MPI_Comm_size(all, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
	CHECK(sum == size, "merged: %d of %d", sum, size);
	MPI_Comm_free(&all);
}

static int child(MPI_Comm parent)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Barrier(MPI_COMM_WORLD);
	greet(parent, check_rank, "child");
	merge(parent, 1);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return 0;
}

static void meet(void)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm half, inter;
	int odd = check_rank % 2, rank;

	MPI_Comm_split(MPI_COMM_WORLD, odd, check_rank, &half);
	if (check_rank == 0)
		MPI_Open_port(MPI_INFO_NULL, port);
	MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (odd)
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
	else
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
	MPI_Comm_rank(half, &rank);
	greet(inter, rank, odd ? "connected" : "accepted");
	MPI_Comm_disconnect(&inter);
	if (check_rank == 0)
		MPI_Close_port(port);
	MPI_Comm_free(&half);
}

/* Every rank has talked with every one, itself included; then, until that file is there. */
static void wait_for(const char *path)
{
	int flag, out = check_rank, in;

	for (int distance = 0; distance < check_size; distance++)
		MPI_Sendrecv(&out, 1, MPI_INT, (check_rank + distance) % check_size, 1, &in, 1,
			     MPI_INT, (check_rank + check_size - distance) % check_size, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	while (access(path, F_OK))
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void tell_there(const char *path)
{
	char there[4096];
	FILE *file;

	snprintf(there, sizeof(there), "%s.there", path);
	file = fopen(there, "w");
	CHECK(file, "%s can't be made", there);
	fclose(file);
}

int main(int argc, char **argv)
{
	MPI_Comm parent, inter;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	if (argc > 2 && !strcmp(argv[1], "before"))
		wait_for(argv[2]);
	for (int round = 0; round < 2; round++) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			       &inter, MPI_ERRCODES_IGNORE);
		greet(inter, check_rank, "parent");
		merge(inter, 0);
		MPI_Comm_disconnect(&inter);
	}
	if (argc > 2 && !strcmp(argv[1], "behind")) {
		if (check_rank == 0)
			tell_there(argv[2]);
		wait_for(argv[2]);
	}
	if (check_size >= 2)
		meet();
	return check_end("spawn");
}
