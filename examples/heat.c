// SPDX-License-Identifier: BSD-3-Clause
/*
 * heat - the heat in a rod, one end of which is hot: each rank has a part of the rod and exchanges
 * its ends with its neighbours, until nothing changes any more. A plain MPI program; `mpirun --mca
 * mtl pm` or scrun gives it PM.
 *
 * Exit status: 0; 1 when MPI failed or the result is wrong.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 8           /* of a rank */
#define HOT 100.0         /* degrees at the left end; the right end has 0 */
#define STEPS_MOST 200000 /* far more than are needed */
#define EXCHANGED 10      /* steps between two looks at how much changed */
#define SMALL 1e-7        /* change of a cell, in degrees, that ends it */

struct rod {
	int rank, ranks;
	double now[CELLS + 2], next[CELLS + 2]; /* with a cell of each neighbour */
};

/* MPI ends the job when a call fails, unless it is told to return. */
static void must(int code, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (code == MPI_SUCCESS)
		return;
	MPI_Error_string(code, text, &len);
	fprintf(stderr, "heat: %s: %s\n", what, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(struct rod *rod)
{
	int left = rod->rank ? rod->rank - 1 : MPI_PROC_NULL;
	int right = rod->rank < rod->ranks - 1 ? rod->rank + 1 : MPI_PROC_NULL;

	must(MPI_Sendrecv(&rod->now[CELLS], 1, MPI_DOUBLE, right, 0, &rod->now[0], 1, MPI_DOUBLE,
			  left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
	     "exchange with the right");
	must(MPI_Sendrecv(&rod->now[1], 1, MPI_DOUBLE, left, 1, &rod->now[CELLS + 1], 1, MPI_DOUBLE,
			  right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
	     "exchange with the left");
}

/* The largest change of a cell here. */
static double step(struct rod *rod)
{
	double change = 0;

	for (int i = 1; i <= CELLS; i++) {
		rod->next[i] = (rod->now[i - 1] + rod->now[i + 1]) / 2;
		change = fmax(change, fabs(rod->next[i] - rod->now[i]));
	}
	for (int i = 1; i <= CELLS; i++)
		rod->now[i] = rod->next[i];
	return change;
}

static int settle(struct rod *rod)
{
	double here, everywhere = HOT;
	int steps = 0;

	while (everywhere > SMALL && steps < STEPS_MOST) {
		for (int i = 0; i < EXCHANGED; i++) {
			exchange(rod);
			here = step(rod);
		}
		steps += EXCHANGED;
		must(MPI_Allreduce(&here, &everywhere, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD),
		     "MPI_Allreduce");
	}
	return steps;
}

/* In the end the temperature falls evenly along the rod. */
static double error_of(const struct rod *rod)
{
	int cells = CELLS * rod->ranks;
	double here = 0, worst;

	for (int i = 1; i <= CELLS; i++) {
		int place = rod->rank * CELLS + i;

		here = fmax(here, fabs(rod->now[i] - HOT * (1 - (double)place / (cells + 1))));
	}
	must(MPI_Allreduce(&here, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
	return worst;
}

int main(int argc, char **argv)
{
	struct rod rod = {0};
	double error;
	int steps;

	must(MPI_Init(&argc, &argv), "MPI_Init");
	must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
	must(MPI_Comm_rank(MPI_COMM_WORLD, &rod.rank), "MPI_Comm_rank");
	must(MPI_Comm_size(MPI_COMM_WORLD, &rod.ranks), "MPI_Comm_size");
	if (!rod.rank)
		rod.now[0] = HOT;
	steps = settle(&rod);
	error = error_of(&rod);
	if (!rod.rank)
		printf("%d ranks, %d steps: the rod is right to %.1g degrees\n", rod.ranks, steps,
		       error);
	must(MPI_Finalize(), "MPI_Finalize");
	return error < 0.01 ? 0 : 1;
}
