// SPDX-License-Identifier: BSD-3-Clause
/*
 * There are two layers of cells. "home" tells where each job was placed and decides what is free.
 * "shown" tells which jobs run, and is made anew after each change: the jobs at home that do not
 * rest, then others that fit beside them.
 */
#include "scheduler/gang/matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_ROWS UINT32_MAX /* home of an exclusive job */

struct place_job {
	uint64_t id;
	uint32_t home; /* its row, or ALL_ROWS */
	bool is_resting;
	uint64_t shown; /* bits of the rows shown in which it runs */
	struct matrix_host *place;
	size_t n_hosts;
};

/* Cells lie row by row: cell[row * n_cores + core]. */
struct host_cells {
	uint32_t n_cores;
	uint64_t *home;
	uint64_t *shown;
};

struct matrix {
	uint32_t rows_max;
	uint32_t n_rows;  /* rows that are anybody's home; exclusive jobs alone need none */
	uint32_t n_shown; /* rows shown; at least 1 */
	struct host_cells *hosts;
	size_t n_hosts;
	struct place_job *jobs; /* in the order of arrival */
	size_t n_jobs, room;
	uint64_t turns; /* changes so far: the order of those others rotates with them */
};

struct matrix *matrix_new(uint32_t rows_max)
{
	struct matrix *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->rows_max = rows_max < 1 ? 1 : rows_max > MATRIX_ROWS_MAX ? MATRIX_ROWS_MAX : rows_max;
	m->n_shown = 1;
	return m;
}

void matrix_place_fini(struct matrix_host *place, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(place[i].cores);
		place[i].cores = NULL;
	}
}

static void job_fini(struct place_job *job)
{
	matrix_place_fini(job->place, job->n_hosts);
	free(job->place);
}

void matrix_free(struct matrix *m)
{
	if (!m)
		return;
	for (size_t h = 0; h < m->n_hosts; h++) {
		free(m->hosts[h].home);
		free(m->hosts[h].shown);
	}
	for (size_t j = 0; j < m->n_jobs; j++)
		job_fini(&m->jobs[j]);
	free(m->hosts);
	free(m->jobs);
	free(m);
}

static struct matrix_host *copy_place(const struct matrix_host *from, size_t n)
{
	struct matrix_host *place = calloc(n ? n : 1, sizeof(*place));

	for (size_t i = 0; place && i < n; i++) {
		place[i] = from[i];
		place[i].cores = calloc(from[i].n_cores ? from[i].n_cores : 1, sizeof(uint32_t));
		if (!place[i].cores) {
			matrix_place_fini(place, i);
			free(place);
			return NULL;
		}
		memcpy(place[i].cores, from[i].cores, from[i].n_cores * sizeof(uint32_t));
	}
	return place;
}

static bool copy_cells(struct host_cells *to, const struct host_cells *from, uint32_t rows)
{
	size_t n = (size_t)rows * from->n_cores;

	to->n_cores = from->n_cores;
	if (!n)
		return true;
	to->home = malloc(n * sizeof(*to->home));
	to->shown = malloc(n * sizeof(*to->shown));
	if (!to->home || !to->shown)
		return false;
	memcpy(to->home, from->home, n * sizeof(*to->home));
	memcpy(to->shown, from->shown, n * sizeof(*to->shown));
	return true;
}

struct matrix *matrix_copy(const struct matrix *from)
{
	struct matrix *m = matrix_new(from->rows_max);
	bool is_whole = m != NULL;

	if (!m)
		return NULL;
	m->n_rows = from->n_rows;
	m->n_shown = from->n_shown;
	m->turns = from->turns;
	m->hosts = calloc(from->n_hosts + 1, sizeof(*m->hosts));
	m->jobs = calloc(from->n_jobs + 1, sizeof(*m->jobs));
	if (m->jobs)
		m->room = from->n_jobs + 1;
	is_whole = m->hosts && m->jobs;
	for (size_t h = 0; is_whole && h < from->n_hosts; h++) {
		m->n_hosts = h + 1;
		is_whole = copy_cells(&m->hosts[h], &from->hosts[h], from->rows_max);
	}
	for (size_t j = 0; is_whole && j < from->n_jobs; j++) {
		m->jobs[j] = from->jobs[j];
		m->jobs[j].place = copy_place(from->jobs[j].place, from->jobs[j].n_hosts);
		is_whole = m->jobs[j].place != NULL;
		m->n_jobs = j + is_whole;
	}
	if (is_whole)
		return m;
	matrix_free(m);
	return NULL;
}

static struct place_job *find(const struct matrix *m, uint64_t id)
{
	for (size_t j = 0; j < m->n_jobs; j++)
		if (m->jobs[j].id == id)
			return &m->jobs[j];
	return NULL;
}

static uint64_t *cell(uint64_t *layer, const struct host_cells *host, uint32_t row, uint32_t core)
{
	return &layer[(size_t)row * host->n_cores + core];
}

/*
 * Whether nobody is at home there; row n_rows is the one that could be opened next, with exclusive
 * jobs in it.
 */
static bool is_free(const struct matrix *m, uint32_t row, uint32_t h, uint32_t core)
{
	return !*cell(m->hosts[h].home, &m->hosts[h], row, core);
}

static bool is_free_for(const struct matrix *m, uint32_t home, uint32_t h, uint32_t core)
{
	if (home != ALL_ROWS)
		return is_free(m, home, h, core);
	for (uint32_t row = 0; row < m->rows_max; row++)
		if (!is_free(m, row, h, core))
			return false;
	return true;
}

static bool does_fit(const struct matrix *m, uint32_t home, const struct matrix_host *place,
		     size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t c = 0; c < place[i].n_cores; c++)
			if (!is_free_for(m, home, place[i].host, place[i].cores[c]))
				return false;
	return true;
}

/* Writes @id into a layer, wherever the job's cores are, in one row or in all. */
static void mark(struct matrix *m, const struct place_job *job, uint32_t home, uint64_t id)
{
	uint32_t first = home == ALL_ROWS ? 0 : home,
		 last = home == ALL_ROWS ? m->rows_max : home + 1;

	for (size_t i = 0; i < job->n_hosts; i++)
		for (uint32_t c = 0; c < job->place[i].n_cores; c++)
			for (uint32_t row = first; row < last; row++) {
				struct host_cells *host = &m->hosts[job->place[i].host];

				*cell(host->home, host, row, job->place[i].cores[c]) = id;
			}
}

/* ---- what is shown ---- */

static bool can_visit(struct matrix *m, const struct place_job *job, uint32_t row)
{
	for (size_t i = 0; i < job->n_hosts; i++)
		for (uint32_t c = 0; c < job->place[i].n_cores; c++) {
			struct host_cells *host = &m->hosts[job->place[i].host];

			if (*cell(host->shown, host, row, job->place[i].cores[c]))
				return false;
		}
	return true;
}

static void show(struct matrix *m, struct place_job *job, uint32_t row)
{
	for (size_t i = 0; i < job->n_hosts; i++)
		for (uint32_t c = 0; c < job->place[i].n_cores; c++) {
			struct host_cells *host = &m->hosts[job->place[i].host];

			*cell(host->shown, host, row, job->place[i].cores[c]) = job->id;
		}
	job->shown |= 1ull << row;
}

/* Rows at home of which somebody does not rest, in order; their count. */
static uint32_t busy_rows(const struct matrix *m, uint32_t rows[MATRIX_ROWS_MAX])
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < m->n_rows; row++)
		for (size_t j = 0; j < m->n_jobs; j++)
			if (m->jobs[j].home == row && !m->jobs[j].is_resting) {
				rows[n++] = row;
				break;
			}
	return n;
}

static void show_all(struct matrix *m)
{
	uint32_t rows[MATRIX_ROWS_MAX], n = busy_rows(m, rows);

	m->n_shown = n ? n : 1;
	m->turns++;
	for (size_t h = 0; h < m->n_hosts; h++)
		if (m->hosts[h].n_cores)
			memset(m->hosts[h].shown, 0,
			       sizeof(uint64_t) * m->rows_max * m->hosts[h].n_cores);
	for (size_t j = 0; j < m->n_jobs; j++)
		m->jobs[j].shown = 0;
	for (uint32_t r = 0; r < m->n_shown; r++)
		for (size_t j = 0; j < m->n_jobs; j++) {
			struct place_job *job = &m->jobs[j];

			if (!job->is_resting &&
			    (job->home == ALL_ROWS || (r < n && job->home == rows[r])))
				show(m, job, r);
		}
	for (uint32_t r = 0; r < m->n_shown; r++)
		for (size_t k = 0; k < m->n_jobs; k++) {
			struct place_job *job = &m->jobs[(k + r + m->turns) % m->n_jobs];

			if (!job->is_resting && !(job->shown & 1ull << r) && can_visit(m, job, r))
				show(m, job, r);
		}
}

/* ---- placing ---- */

int matrix_host(struct matrix *m, uint32_t host, uint32_t n_cores)
{
	uint64_t *home = NULL, *shown = NULL;

	if (host >= m->n_hosts) {
		struct host_cells *hosts = realloc(m->hosts, (host + 1) * sizeof(*hosts));

		if (!hosts)
			return -ENOMEM;
		memset(hosts + m->n_hosts, 0, (host + 1 - m->n_hosts) * sizeof(*hosts));
		m->hosts = hosts;
		m->n_hosts = host + 1;
	}
	if (n_cores == m->hosts[host].n_cores)
		return 0;
	if (n_cores) {
		home = calloc((size_t)m->rows_max * n_cores, sizeof(*home));
		shown = calloc((size_t)m->rows_max * n_cores, sizeof(*shown));
	}
	if (n_cores && (!home || !shown)) {
		free(home);
		free(shown);
		return -ENOMEM;
	}
	free(m->hosts[host].home);
	free(m->hosts[host].shown);
	m->hosts[host] = (struct host_cells){.n_cores = n_cores, .home = home, .shown = shown};
	return 0;
}

static uint32_t count_free(const struct matrix *m, uint32_t home, uint32_t host)
{
	uint32_t n = 0;

	for (uint32_t core = 0; core < m->hosts[host].n_cores; core++)
		n += is_free_for(m, home, host, core);
	return n;
}

static uint32_t most_cores(const struct matrix_request *request)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < request->n_wanted; k++)
		most = request->cores[k] > most ? request->cores[k] : most;
	return most;
}

/* Number of free cores of a host: in row @home, or in an empty matrix. */
static uint32_t room_on(const struct matrix *m, uint32_t home, uint32_t host, bool is_empty)
{
	if (host >= m->n_hosts)
		return 0;
	return is_empty ? m->hosts[host].n_cores : count_free(m, home, host);
}

/* Lets the request pick among all that have room. */
static bool pick(const struct matrix *m, uint32_t home, const struct matrix_request *request,
		 bool is_empty, uint32_t *chosen)
{
	uint32_t *fitting = calloc(request->n_hosts + 1, sizeof(*fitting)),
		 most = most_cores(request);
	size_t n = 0;
	bool is_found;

	for (size_t i = 0; fitting && i < request->n_hosts; i++)
		if (room_on(m, home, request->hosts[i], is_empty) >= most)
			fitting[n++] = request->hosts[i];
	is_found = n >= request->n_wanted && n &&
		   request->pick(request->pick_arg, fitting, n, chosen);
	free(fitting);
	return is_found;
}

/* The first candidates with room, in their order, into @chosen. False: too few. */
static bool choose(const struct matrix *m, uint32_t home, const struct matrix_request *request,
		   uint32_t *chosen)
{
	uint32_t k = 0;

	if (request->pick)
		return pick(m, home, request, false, chosen);
	for (size_t i = 0; i < request->n_hosts && k < request->n_wanted; i++)
		if (request->hosts[i] < m->n_hosts &&
		    count_free(m, home, request->hosts[i]) >= request->cores[k])
			chosen[k++] = request->hosts[i];
	return k == request->n_wanted;
}

/* In an empty matrix; @chosen is room for the hosts. */
static bool is_possible(const struct matrix *m, const struct matrix_request *request,
			uint32_t *chosen)
{
	uint32_t k = 0;

	if (request->pick)
		return pick(m, 0, request, true, chosen);
	for (size_t i = 0; i < request->n_hosts && k < request->n_wanted; i++)
		if (request->hosts[i] < m->n_hosts &&
		    m->hosts[request->hosts[i]].n_cores >= request->cores[k])
			k++;
	return k == request->n_wanted;
}

static int take_cores(const struct matrix *m, uint32_t home, const struct matrix_request *request,
		      const uint32_t *chosen, struct matrix_host *place)
{
	for (uint32_t k = 0; k < request->n_wanted; k++) {
		uint32_t *cores = calloc(request->cores[k] ? request->cores[k] : 1, sizeof(*cores)),
			 n = 0;

		if (!cores) {
			matrix_place_fini(place, k);
			return -ENOMEM;
		}
		for (uint32_t core = 0; n < request->cores[k]; core++)
			if (is_free_for(m, home, chosen[k], core))
				cores[n++] = core;
		place[k] = (struct matrix_host){.host = chosen[k], .cores = cores, .n_cores = n};
	}
	return 0;
}

/* The place is copied. */
static int enter(struct matrix *m, uint64_t id, uint32_t home, const struct matrix_host *place,
		 size_t n)
{
	struct place_job job = {.id = id, .home = home, .n_hosts = n};

	if (m->n_jobs == m->room) {
		size_t room = m->room ? 2 * m->room : 16;
		struct place_job *jobs = realloc(m->jobs, room * sizeof(*jobs));

		if (!jobs)
			return -ENOMEM;
		m->jobs = jobs;
		m->room = room;
	}
	job.place = copy_place(place, n);
	if (!job.place)
		return -ENOMEM;
	m->jobs[m->n_jobs++] = job;
	mark(m, &job, home, id);
	if (home != ALL_ROWS && home >= m->n_rows)
		m->n_rows = home + 1;
	show_all(m);
	return 0;
}

int matrix_add(struct matrix *m, uint64_t id, const struct matrix_request *request,
	       struct matrix_host *place)
{
	uint32_t *chosen, home = ALL_ROWS;
	int err = -EBUSY;

	if (!id || find(m, id))
		return -EEXIST;
	chosen = calloc(request->n_wanted ? request->n_wanted : 1, sizeof(*chosen));
	if (!chosen)
		return -ENOMEM;
	if (request->is_exclusive) {
		err = choose(m, ALL_ROWS, request, chosen) ? 0 : -EBUSY;
	} else {
		for (home = 0; err && home <= m->n_rows && home < m->rows_max; home++)
			err = choose(m, home, request, chosen) ? 0 : -EBUSY;
		home--;
	}
	if (!err)
		err = take_cores(m, home, request, chosen, place);
	else if (!is_possible(m, request, chosen))
		err = -ENOSPC;
	free(chosen);
	if (err)
		return err;
	err = enter(m, id, home, place, request->n_wanted);
	if (err)
		matrix_place_fini(place, request->n_wanted);
	return err;
}

static bool is_there(const struct matrix *m, const struct matrix_host *place, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (place[i].host >= m->n_hosts)
			return false;
		for (uint32_t c = 0; c < place[i].n_cores; c++)
			if (place[i].cores[c] >= m->hosts[place[i].host].n_cores)
				return false;
	}
	return true;
}

int matrix_restore(struct matrix *m, uint64_t id, const struct matrix_host *place, size_t n,
		   bool is_exclusive)
{
	uint32_t row = 0;

	if (!id || find(m, id))
		return -EEXIST;
	if (!is_there(m, place, n))
		return -ENOSPC;
	if (is_exclusive)
		return does_fit(m, ALL_ROWS, place, n) ? enter(m, id, ALL_ROWS, place, n) : -EBUSY;
	while (row <= m->n_rows && row < m->rows_max && !does_fit(m, row, place, n))
		row++;
	if (row > m->n_rows || row == m->rows_max)
		return -EBUSY;
	return enter(m, id, row, place, n);
}

/* ---- leaving ---- */

/* A job whose cores are free in an earlier row moves there. */
static void compact(struct matrix *m)
{
	for (uint32_t row = 1; row < m->n_rows; row++)
		for (size_t j = 0; j < m->n_jobs; j++) {
			struct place_job *job = &m->jobs[j];
			uint32_t to = 0;

			if (job->home != row)
				continue;
			while (to < row && !does_fit(m, to, job->place, job->n_hosts))
				to++;
			if (to == row)
				continue;
			mark(m, job, row, 0);
			job->home = to;
			mark(m, job, to, job->id);
		}
}

static bool is_anybodys_home(const struct matrix *m, uint32_t row)
{
	for (size_t j = 0; j < m->n_jobs; j++)
		if (m->jobs[j].home == row)
			return true;
	return false;
}

/* Closes rows without anybody: the jobs of later ones move up together. */
static void close_rows(struct matrix *m)
{
	uint32_t to = 0;

	for (uint32_t row = 0; row < m->n_rows; row++) {
		if (!is_anybodys_home(m, row))
			continue;
		for (size_t j = 0; to != row && j < m->n_jobs; j++)
			if (m->jobs[j].home == row) {
				mark(m, &m->jobs[j], row, 0);
				m->jobs[j].home = to;
				mark(m, &m->jobs[j], to, m->jobs[j].id);
			}
		to++;
	}
	m->n_rows = to;
}

int matrix_remove(struct matrix *m, uint64_t id)
{
	struct place_job *job = find(m, id);

	if (!job)
		return -ENOENT;
	mark(m, job, job->home, 0);
	job_fini(job);
	m->n_jobs--;
	memmove(job, job + 1, (size_t)(m->jobs + m->n_jobs - job) * sizeof(*job));
	compact(m);
	close_rows(m);
	show_all(m);
	return 0;
}

int matrix_rest(struct matrix *m, uint64_t id, bool is_resting)
{
	struct place_job *job = find(m, id);

	if (!job)
		return -ENOENT;
	if (job->is_resting != is_resting) {
		job->is_resting = is_resting;
		show_all(m);
	}
	return 0;
}

/* ---- questions ---- */

uint32_t matrix_rows(const struct matrix *m)
{
	return m->n_shown;
}

uint64_t matrix_rows_of(const struct matrix *m, uint64_t id)
{
	const struct place_job *job = find(m, id);

	return job ? job->shown : 0;
}

uint64_t matrix_at(const struct matrix *m, uint32_t row, uint32_t host, uint32_t core)
{
	if (row >= m->n_shown || host >= m->n_hosts || core >= m->hosts[host].n_cores)
		return 0;
	return *cell(m->hosts[host].shown, &m->hosts[host], row, core);
}
