// SPDX-License-Identifier: BSD-3-Clause
/*
 * verdict - exit codes as a shell knows them.
 */
#include "scheduler/scstepd/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void verdict_give(struct verdict *verdict, int code, const char *text)
{
	if (verdict->is_given)
		return;
	verdict->is_given = true;
	verdict->code = code;
	snprintf(verdict->text, sizeof(verdict->text), "%s", text);
}

static void name_rank(char *to, size_t size, uint32_t world, uint32_t rank, const char *host)
{
	if (world)
		snprintf(to, size, "rank %u of spawned world %u on %s", rank, world, host);
	else
		snprintf(to, size, "rank %u on %s", rank, host);
}

bool verdict_rank_ended(struct verdict *verdict, const struct verdict_rank *rank)
{
	char name[300], text[1200];
	int code = 0;

	name_rank(name, sizeof(name), rank->world, rank->rank, rank->host);
	if (rank->code) {
		verdict_give(verdict, rank->code, rank->why ? rank->why : name);
		return true;
	}
	if (WIFSIGNALED(rank->status)) {
		int signo = WTERMSIG(rank->status);

		code = 128 + signo;
		snprintf(text, sizeof(text), "%s was killed by signal %d (%s)%s", name, signo,
			 strsignal(signo), WCOREDUMP(rank->status) ? " and left a core dump" : "");
	} else if (WEXITSTATUS(rank->status)) {
		code = WEXITSTATUS(rank->status);
		snprintf(text, sizeof(text), "%s exited with code %d", name, code);
	} else if (rank->is_in_mpi) {
		code = 1;
		snprintf(text, sizeof(text),
			 "%s exited with code 0 but without MPI_Finalize after MPI_Init", name);
	}
	if (code)
		verdict_give(verdict, code, text);
	return code;
}

void verdict_aborted(struct verdict *verdict, uint32_t world, uint32_t rank, const char *host,
		     int code, const char *text)
{
	char name[300], line[1024];
	/* Open MPI has no text and says so. */
	bool is_said = *text && strcmp(text, "N/A") != 0;

	name_rank(name, sizeof(name), world, rank, host);
	snprintf(line, sizeof(line), "%s called MPI_Abort with code %d%s%s", name, code,
		 is_said ? ": " : "", is_said ? text : "");
	/* A code that would become exit code 0 is a failure all the same. */
	verdict_give(verdict, code & 0xff ? code & 0xff : 1, line);
}
