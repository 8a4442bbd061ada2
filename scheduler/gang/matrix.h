/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * matrix - Ousterhout's slot matrix: rows are time slots, columns are the cores of all hosts; all
 * processes of a job stand in one row, so they run at the same time. Pure: no process, socket,
 * clock; order of calls decides all.
 *
 * An exclusive job takes its cores in every row. A shared job may stand in further rows where its
 * cores are free there too ("alternate selection"), so no slot is left idle that somebody could
 * use. Source: J. Ousterhout, Scheduling Techniques for Concurrent Systems, ICDCS 1982; D.
 * Feitelson, Packing Schemes for Gang Scheduling, JSSPP 1996.
 */
#ifndef SCHEDULER_GANG_MATRIX_H
#define SCHEDULER_GANG_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATRIX_ROWS_MAX 64

struct matrix;

struct matrix_host {
	uint32_t host;   /* number of the host */
	uint32_t *cores; /* that were given, ascending; owned by the caller of the place */
	uint32_t n_cores;
};

/* Hosts and cores that a job asks for. */
struct matrix_request {
	const uint32_t *hosts; /* candidates in the order of preference */
	size_t n_hosts;
	uint32_t n_wanted;     /* hosts */
	const uint32_t *cores; /* cores on the k-th of the wanted hosts */
	bool is_exclusive;
	/*
	 * Where it matters which hosts go together: chooses n_wanted of the @n candidates that have
	 * room for the most of cores[], in the order of the ranks, into @chosen. False: not among
	 * these. NULL: the first that fit.
	 */
	bool (*pick)(void *arg, const uint32_t *fitting, size_t n, uint32_t *chosen);
	void *pick_arg;
};

struct matrix *
matrix_new(uint32_t rows_max); /* rows that may be opened, 1..MATRIX_ROWS_MAX; NULL: no memory */
void matrix_free(struct matrix *matrix);
/* For what would be if. NULL: no memory. */
struct matrix *matrix_copy(const struct matrix *matrix);

/*
 * A host with @n_cores cores; 0 takes it away (jobs on it must be removed before). Hosts are
 * numbered by the caller. 0 or -ENOMEM.
 */
int matrix_host(struct matrix *matrix, uint32_t host, uint32_t n_cores);

/*
 * Finds the first row (an existing one before a new one) with room on enough candidates, and puts
 * @job there. 0 and @place (n_wanted entries, cores allocated, matrix_place_fini()); -EBUSY no room
 * now; -ENOSPC never, even in an empty matrix; -EEXIST; -ENOMEM.
 */
int matrix_add(struct matrix *matrix, uint64_t job, const struct matrix_request *request,
	       struct matrix_host *place);
void matrix_place_fini(struct matrix_host *place, size_t n);
/* Takes it out; empty rows go, and rows that fit together become one. -ENOENT. */
int matrix_remove(struct matrix *matrix, uint64_t job);
/*
 * Puts a job where it was before a restart: its row is found anew, its cores are as given. As
 * matrix_add().
 */
int matrix_restore(struct matrix *matrix, uint64_t job, const struct matrix_host *place, size_t n,
		   bool is_exclusive);
/* A job that is suspended or idle keeps its place but no row needs to wait for it. -ENOENT. */
int matrix_rest(struct matrix *matrix, uint64_t job, bool is_resting);

/* Rows in use; at least 1. */
uint32_t matrix_rows(const struct matrix *matrix);
/* Bits of the rows in which the job runs; all = in every row. 0: no such job, or at rest. */
uint64_t matrix_rows_of(const struct matrix *matrix, uint64_t job);
/* The job that has that core in that row; 0 = none. */
uint64_t matrix_at(const struct matrix *matrix, uint32_t row, uint32_t host, uint32_t core);

#endif
