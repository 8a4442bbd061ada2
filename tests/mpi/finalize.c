// SPDX-License-Identifier: BSD-3-Clause
/*
 * Nothing is lost at the end: senders hand over all they have, free their requests and finalize at
 * once; rank 0 receives everything only then. The component stays in memory: a thread of PMIx may
 * still be in it.
 */
#include "tests/mpi/check.h"

enum { MESSAGES = 500, LONGEST = 2000, BUFFER = MESSAGES * (LONGEST + MPI_BSEND_OVERHEAD) };

static size_t length_of(int i)
{
	return (size_t)(i * 37 % LONGEST) + 1;
}

static void send_and_leave(void)
{
	char *attached = malloc(BUFFER), *buf = malloc(LONGEST);

	MPI_Buffer_attach(attached, BUFFER);
	for (int i = 0; i < MESSAGES; i++) {
		fill(buf, length_of(i), (uint64_t)(check_rank * MESSAGES + i));
		MPI_Bsend(buf, (int)length_of(i), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	}
	free(buf);
	MPI_Finalize();
}

static void receive_late(void)
{
	char *buf = malloc(LONGEST);

	for (int r = check_size - 1; r > 0; r--) {
		for (int i = 0; i < MESSAGES; i++) {
			MPI_Recv(buf, LONGEST, MPI_BYTE, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(first_wrong(buf, length_of(i), (uint64_t)(r * MESSAGES + i)) ==
				      length_of(i),
			      "message %d of rank %d", i, r);
		}
	}
	free(buf);
	printf("OK finalize %d ranks\n", check_size);
	MPI_Finalize();
}

#ifdef OPEN_MPI
static int is_in_memory(const char *library)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "re");
	int is_found = 0;

	while (f && fgets(line, sizeof(line), f))
		is_found |= strstr(line, library) != NULL;
	if (f)
		fclose(f);
	return is_found;
}
#endif

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	if (check_rank)
		send_and_leave();
	else
		receive_late();
#ifdef OPEN_MPI
	/* MPI_Abort is not possible any more */
	if (!is_in_memory("/mca_mtl_pm.so")) {
		fprintf(stderr, "rank %d: the component has been unloaded\n", check_rank);
		return 1;
	}
#endif
	return 0;
}
