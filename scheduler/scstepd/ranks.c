// SPDX-License-Identifier: BSD-3-Clause
/*
 * ranks - from a world to processes. Programs and environments are made once for each app, what
 * differs for each rank.
 */
#include "scheduler/scstepd/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/child.h"
#include "scheduler/scstepd/env.h"
#include "scheduler/scstepd/input.h"
#include "scheduler/scstepd/memory.h"
#include "scheduler/scstepd/output.h"
#include "scheduler/scstepd/pmi.h"
#include "scheduler/scstepd/pmix/nspace.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/program.h"
#include "scheduler/scstepd/rankenv.h"
#include "scheduler/scstepd/terminal.h"
#include "scheduler/scstepd/tree.h"

/*
 * Descriptors of scstepd: for itself, and for each rank its pipes, PMI and PMIx, with one more of a
 * start under way.
 */
enum { OWN_FILES = 24 + TREE_FANOUT, RANK_FILES = 6 };

struct ranks {
	struct step *step;
	struct rank **all;
	size_t n, room;
	size_t alive;
	size_t starting; /* of world 0, that do not execute their programs yet */
	ev_signal reaper;
};

/* Ends of pipes of a rank in the making, -1 = none. */
struct ends {
	int child_in, child_out, child_err; /* the rank's */
	int in, out, err;                   /* ours */
	int go_read, go_write, failure_read, failure_write;
	int keep; /* the rank's end of PMI-1's socket */
	bool is_terminal;
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_child_ends(struct ends *ends)
{
	if (ends->child_out == ends->child_in)
		ends->child_out = ends->child_err = -1;
	close_end(&ends->child_in);
	close_end(&ends->child_out);
	close_end(&ends->child_err);
	close_end(&ends->go_read);
	close_end(&ends->failure_write);
	close_end(&ends->keep);
}

static void close_own_ends(struct ends *ends)
{
	close_end(&ends->in);
	close_end(&ends->out);
	close_end(&ends->err);
	close_end(&ends->go_write);
	close_end(&ends->failure_read);
}

static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

/* Our end only: a rank must find its pipes as it knows them. */
static void set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int make_stdio(const struct step *step, const struct world *world, uint32_t number,
		      struct ends *ends)
{
	const struct job *job = step->order->job;
	int rc;

	if (job->wants_pty && !world->is_spawned && job->pty_rank == (int64_t)number) {
		ends->is_terminal = true;
		rc = terminal_open(&ends->out, &ends->child_in);
		if (rc)
			return rc;
		ends->child_out = ends->child_err = ends->child_in;
		ends->in = fcntl(ends->out, F_DUPFD_CLOEXEC, 3);
		if (ends->in < 0)
			return -errno;
		set_nonblocking(ends->out);
		return 0;
	}
	if (input_is_for(step, world, number)) {
		rc = make_pipe(&ends->child_in, &ends->in);
		if (!rc)
			set_nonblocking(ends->in);
	} else {
		ends->child_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		rc = ends->child_in < 0 ? -errno : 0;
	}
	if (!rc)
		rc = make_pipe(&ends->out, &ends->child_out);
	if (!rc)
		rc = make_pipe(&ends->err, &ends->child_err);
	if (rc)
		return rc;
	set_nonblocking(ends->out);
	set_nonblocking(ends->err);
	return 0;
}

static const char *cwd_of(const struct rank *rank)
{
	const struct world *world = rank->world;
	const char *own = world->apps[world_app_of(world, rank->number, NULL, NULL)].cwd;

	return own ? own : rank->step->order->job->cwd;
}

static void read_failure(struct rank *rank)
{
	struct child_failure failure;
	const char *name =
		rank->world->apps[world_app_of(rank->world, rank->number, NULL, NULL)].argv[0];
	char why[1024];
	ssize_t n;

	if (!ev_is_active(&rank->failure))
		return;
	n = read(rank->failure.fd, &failure, sizeof(failure));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	ev_io_stop(rank->step->loop, &rank->failure);
	close(rank->failure.fd);
	if (n != (ssize_t)sizeof(failure)) {
		/* exec() has closed the other end. */
		if (!rank->world->number && --rank->step->ranks->starting == 0)
			step_running(rank->step);
		return;
	}
	rank->code = STEP_CODE_START;
	switch (failure.stage) {
	case CHILD_CWD:
		snprintf(why, sizeof(why),
			 "%s, host %s: the directory of the job: %s; it must be there",
			 cwd_of(rank), rank->step->host, strerror(failure.error));
		break;
	case CHILD_LIMIT:
		snprintf(why, sizeof(why), "%s, host %s: resource limit %d cannot be set: %s", name,
			 rank->step->host, (int)failure.what, strerror(failure.error));
		break;
	case CHILD_STDIO:
		snprintf(why, sizeof(why), "%s, host %s: standard input and output: %s", name,
			 rank->step->host, strerror(failure.error));
		break;
	default:
		rank->code =
			program_failed(name, rank->step->host, failure.error, why, sizeof(why));
		break;
	}
	rank->why = strdup(why);
}

static void on_failure(struct ev_loop *loop, ev_io *watcher, int events)
{
	read_failure(watcher->data);
}

static void rank_free(struct rank *rank)
{
	if (ev_is_active(&rank->failure)) {
		ev_io_stop(rank->step->loop, &rank->failure);
		close(rank->failure.fd);
	}
	if (rank->go >= 0)
		close(rank->go);
	free(rank->path);
	free(rank->why);
	free(rank);
}

static int add(struct ranks *ranks, struct rank *rank)
{
	if (ranks->n == ranks->room) {
		size_t room = ranks->room ? 2 * ranks->room : 16;
		struct rank **more = realloc(ranks->all, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		ranks->all = more;
		ranks->room = room;
	}
	ranks->all[ranks->n++] = rank;
	ranks->alive++;
	ranks->starting += !rank->world->number;
	return 0;
}

/* The process is there: from now on it is counted, and its pipes are watched. */
static int adopt(struct ranks *ranks, struct rank *rank, struct ends *ends)
{
	struct step *step = ranks->step;
	int rc = add(ranks, rank);

	if (rc) {
		kill(rank->pid, SIGKILL);
		return rc;
	}
	rank->go = ends->go_write;
	ends->go_write = -1;
	set_nonblocking(ends->failure_read);
	ev_io_init(&rank->failure, on_failure, ends->failure_read, EV_READ);
	rank->failure.data = rank;
	ev_io_start(step->loop, &rank->failure);
	ends->failure_read = -1;
	rc = output_add(step->output, rank, 1, ends->out);
	ends->out = -1;
	if (!rc && ends->err >= 0) {
		rc = output_add(step->output, rank, 2, ends->err);
		ends->err = -1;
	}
	if (!rc && ends->in >= 0) {
		rc = input_add(step->input, rank, ends->in, ends->is_terminal);
		ends->in = -1;
	}
	return rc;
}

static int fork_rank(struct ranks *ranks, struct world *world, uint32_t local,
		     const struct env *base, const char *path)
{
	struct step *step = ranks->step;
	uint32_t number = world->hosts[step->here].first + local;
	const struct job_app *app = &world->apps[world_app_of(world, number, NULL, NULL)];
	struct rank *rank = calloc(1, sizeof(*rank));
	struct ends ends = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, false};
	struct env env = {0};
	unsigned long *mask = NULL;
	struct child_plan plan = {
		.path = path, .argv = app->argv, .job = step->order->job, .mask_bytes = 0};
	int rc, bytes = 0;

	if (!rank)
		return -ENOMEM;
	*rank = (struct rank){.step = step,
			      .world = world,
			      .number = number,
			      .slot = world->hosts[step->here].before + local,
			      .go = -1,
			      .path = strdup(path)};
	rc = rank->path ? make_stdio(step, world, number, &ends) : -ENOMEM;
	if (!rc)
		rc = make_pipe(&ends.go_read, &ends.go_write);
	if (!rc)
		rc = make_pipe(&ends.failure_read, &ends.failure_write);
	if (!rc)
		rc = pmi_join(step, world, number, &ends.keep);
	if (!rc)
		rc = rankenv_rank(step, world, number, ends.keep, base, &env);
	if (!rc) {
		bytes = bind_mask(step->bind, rank->slot, &mask);
		rc = bytes < 0 ? bytes : 0;
	}
	if (!rc) {
		plan.env = env.v;
		plan.cwd = app->cwd ? app->cwd : step->order->job->cwd;
		plan.mask = mask;
		plan.mask_bytes = (size_t)bytes;
		plan.in = ends.child_in;
		plan.out = ends.child_out;
		plan.err = ends.child_err;
		plan.is_terminal = ends.is_terminal;
		plan.keep = ends.keep;
		plan.go = ends.go_read;
		plan.failure = ends.failure_write;
		rank->pid = child_fork(&plan);
		rc = rank->pid < 0 ? (int)rank->pid : 0;
	}
	close_child_ends(&ends);
	if (rc) {
		rank_free(rank);
	} else {
		rc = adopt(ranks, rank, &ends);
		/* Counted ones are freed by ranks_close(). */
		if (rc && !ranks_get(ranks, world, number))
			rank_free(rank);
	}
	close_own_ends(&ends);
	free(mask);
	env_fini(&env);
	return rc;
}

/* A rank that PMIx's server can't take in for want of them would wait for ever. */
static int check_files(const struct ranks *ranks, const struct world *world, char *why,
		       size_t why_size)
{
	const struct step *step = ranks->step;
	size_t n = ranks->alive + world->hosts[step->here].ranks;
	size_t needed = OWN_FILES + RANK_FILES * n;
	unsigned long long limit = files_limit(), ours = limit / FILES_PARTS * (FILES_PARTS - 1);

	if (needed <= ours)
		return 0;
	snprintf(why, why_size,
		 "host %s: %zu ranks there need %zu descriptors, and scstepd has %llu for them; "
		 "use more hosts, or %s",
		 step->host, n, needed, ours, files_remedy(EMFILE, NULL));
	return STEP_CODE_START;
}

int ranks_start(struct ranks *ranks, struct world *world, int64_t *ret_rank, char *why,
		size_t why_size)
{
	struct step *step = ranks->step;
	uint32_t first = 0, begin = world->hosts[step->here].first;
	uint32_t end = begin + world->hosts[step->here].ranks;
	int code = check_files(ranks, world, why, why_size);

	for (size_t i = 0; !code && i < world->n_apps; first += world->apps[i++].ranks) {
		const struct job_app *app = &world->apps[i];
		uint32_t from = begin > first ? begin : first;
		uint32_t to = end < first + app->ranks ? end : first + app->ranks;
		struct env base = {0};
		const char *files;
		char *path = NULL;
		int rc;

		if (from >= to)
			continue;
		*ret_rank = from;
		rc = rankenv_app(step, world, app, &base);
		if (!rc)
			code = program_find(app->argv[0], env_get(&base, "PATH"),
					    app->cwd ? app->cwd : step->order->job->cwd, step->host,
					    &path, why, why_size);
		for (uint32_t number = from; !rc && !code && number < to; number++) {
			*ret_rank = number;
			rc = fork_rank(ranks, world, number - begin, &base, path);
		}
		if (rc) {
			files = files_remedy(-rc, NULL);
			snprintf(why, why_size, "%s, host %s: cannot be started: %s%s%s",
				 app->argv[0], step->host, strerror(-rc),
				 rc == -EAGAIN ? "; the limit of processes is reached (ulimit -u)"
				 : files       ? "; "
					       : "",
				 files ? files : "");
			code = STEP_CODE_START;
		}
		free(path);
		env_fini(&base);
	}
	return code;
}

void ranks_go(struct ranks *ranks, const struct world *world)
{
	for (size_t i = 0; i < ranks->n; i++) {
		struct rank *rank = ranks->all[i];

		if (rank->world != world || rank->go < 0)
			continue;
		/* A rank that was killed meanwhile does not read it; the reaper reports that. */
		if (write(rank->go, "", 1) < 0 && errno != EPIPE)
			step_failed(ranks->step, world->number, rank->number, STEP_CODE_START,
				    strerror(errno));
		close(rank->go);
		rank->go = -1;
	}
}

size_t ranks_count(const struct ranks *ranks)
{
	return ranks->n;
}

struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return ranks->all[i];
}

struct rank *ranks_get(const struct ranks *ranks, const struct world *world, uint32_t number)
{
	for (size_t i = 0; i < ranks->n; i++)
		if (ranks->all[i]->world == world && ranks->all[i]->number == number)
			return ranks->all[i];
	return NULL;
}

size_t ranks_alive(const struct ranks *ranks)
{
	return ranks->alive;
}

void ranks_signal(struct ranks *ranks, int signo)
{
	for (size_t i = 0; i < ranks->n; i++) {
		const struct rank *rank = ranks->all[i];

		/* Before its setsid() a child has no group of its own. */
		if (!rank->has_ended && kill(-rank->pid, signo) && errno == ESRCH)
			kill(rank->pid, signo);
	}
}

/*
 * A rank that fails after the kernel has ended a process of ours: that is why. It counts before it
 * kills.
 */
static void blame_memory(struct rank *rank)
{
	const struct step *step = rank->step;

	if (!rank->status || rank->code || !step->memory_kills ||
	    !memory_was_exceeded(step->memory_kills))
		return;
	rank->code = STEP_CODE_MEMORY;
	rank->why = strdup(step->memory_text);
}

static void reap(struct ranks *ranks, pid_t pid, int status, const struct rusage *usage)
{
	for (size_t i = 0; i < ranks->n; i++) {
		struct rank *rank = ranks->all[i];

		/* Others are orphans of ranks, whose end is nobody's business. */
		if (rank->pid != pid || rank->has_ended)
			continue;
		read_failure(rank);
		rank->has_ended = true;
		rank->status = status;
		blame_memory(rank);
		rank->max_rss = (uint64_t)usage->ru_maxrss * 1024;
		ranks->alive--;
		input_rank_ended(ranks->step->input, rank);
		output_rank_ended(ranks->step->output, rank);
		return;
	}
}

static void on_child(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct rusage usage;
	pid_t pid;
	int status;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		reap(watcher->data, pid, status, &usage);
}

struct ranks *ranks_open(struct step *step)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));

	if (!ranks)
		return NULL;
	ranks->step = step;
	ev_signal_init(&ranks->reaper, on_child, SIGCHLD);
	ranks->reaper.data = ranks;
	ev_signal_start(step->loop, &ranks->reaper);
	return ranks;
}

void ranks_close(struct ranks *ranks)
{
	if (!ranks)
		return;
	ev_signal_stop(ranks->step->loop, &ranks->reaper);
	for (size_t i = 0; i < ranks->n; i++)
		rank_free(ranks->all[i]);
	free(ranks->all);
	free(ranks);
}
