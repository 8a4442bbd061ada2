// SPDX-License-Identifier: BSD-3-Clause
/*
 * scnoded: brings the parts up in order, serves until SIGTERM. Jobs outlive it, for the next one,
 * unless it is transient.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/scnoded/control.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/criu/role.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/record.h"
#include "scheduler/scnoded/remote.h"
#include "scheduler/scnoded/scnoded.h"
#include "scheduler/scnoded/steps.h"
#include "scheduler/scnoded/uplink.h"

#define EXIT_FAILED 1
#define TICK_S 1.0
#define LOCK_LOOKS 200
#define LOCK_LOOK_US 10000

/*
 * Pending connections whose job does not come, jobs that want too much memory, a clock that was
 * set.
 */
static void tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scnoded *d = timer->data;
	(void)events;
	awake_beat(&d->awake, clock_monotonic_ns());
	turn_tick(d->turn);
	steps_show_out_late(d);
	steps_look_at_memory(d);
}

static void enter(int fd, uint64_t job, void *owner)
{
	struct scnoded *d = owner;

	if (job)
		steps_pending(d, fd, job);
	else
		lobby_enter(d->lobby, fd);
}

static void known(struct link *link, void *owner)
{
	struct scnoded *d = owner;

	remote_caller(d->remote, link);
}

static const struct lobby_events pending_events = {.known = known};

/* ---- up and down ---- */

static void name_host(struct scnoded *d)
{
	if (d->options.name)
		snprintf(d->name, sizeof(d->name), "%s", d->options.name);
	else if (!gethostname(d->name, sizeof(d->name) - 1))
		d->name[strcspn(d->name, ".")] = 0;
}

/* Where a daemon of root, or of a user, keeps its things. */
static void choose_run(struct scnoded *d)
{
	static char path[256];
	const char *mine = getenv("XDG_RUNTIME_DIR");

	if (d->options.run)
		return;
	if (!geteuid())
		snprintf(path, sizeof(path), "/run/openscore");
	else if (mine)
		snprintf(path, sizeof(path), "%s/openscore", mine);
	else
		snprintf(path, sizeof(path), "/tmp/openscore-%u", geteuid());
	d->options.run = path;
}

/*
 * A child of a scnoded that was killed just after it forked has the lock, and the port, until it
 * runs and ends: that is waited for. The kernel has no lock with a time limit.
 */
static bool take_lock(int fd)
{
	for (int look = 0; look < LOCK_LOOKS; look++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		usleep(LOCK_LOOK_US);
	}
	return false;
}

/* One daemon per run directory. */
static int lock_run(struct scnoded *d, char *why, size_t why_size)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/lock", d->options.run);
	d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock >= 0 && take_lock(d->lock))
		return 0;
	snprintf(why, why_size,
		 "run directory %s: another scnoded has it; end that one, or choose another with "
		 "--run",
		 d->options.run);
	return -EBUSY;
}

static int open_parts(struct scnoded *d, char *why, size_t why_size)
{
	d->form = cgroup_probe(d->options.cgroup, why, why_size);
	if (d->form == CGROUP_NONE)
		daemon_say("%s", why);
	else if (!cgroup_can_limit(d->form, d->options.cgroup))
		daemon_say("no cgroup controller pids for %s: a job may start as many processes as "
			   "its user's limits allow (RLIMIT_NPROC, see limits.conf(5))",
			   d->options.cgroup);
	if (d->form != CGROUP_NONE && !cgroup_can_limit_memory(d->form, d->options.cgroup))
		daemon_say(
			"no cgroup controller memory for %s: a job may take all memory of the host",
			d->options.cgroup);
	awake_begin(&d->awake, clock_monotonic_ns(), TICK_S);
	d->loop = ev_default_loop(EVFLAG_AUTO);
	d->auth = d->loop ? auth_open(d->loop, d->options.munge_socket) : NULL;
	d->lobby = d->auth ? lobby_open(d->loop, d->auth, &pending_events, d) : NULL;
	d->turn = turn_open();
	d->remote = remote_open(d);
	if (!d->loop || !d->lobby || !d->turn || !d->remote) {
		snprintf(why, why_size, "no memory, or no thread: %m");
		return -ENOMEM;
	}
	if (!turn_is_realtime(d->turn))
		daemon_say("no right to real-time scheduling: gang switches will be late on a "
			   "busy host; run as "
			   "root, or give CAP_SYS_NICE and CAP_IPC_LOCK");
	d->cores = cores_open(d->options.cores, why, why_size);
	return d->cores ? 0 : -EINVAL;
}

static int open_all(struct scnoded *d, char *why, size_t why_size)
{
	int err;

	files_raise();
	name_host(d);
	choose_run(d);
	err = record_open(d->options.run, why, why_size);
	if (!err)
		err = lock_run(d, why, why_size);
	if (!err)
		err = open_parts(d, why, why_size);
	if (err)
		return err;
	d->acceptor = acceptor_open(d->loop, d->options.listen, enter, d);
	if (!d->acceptor) {
		snprintf(why, why_size,
			 "--listen %s: %m; another scnoded may be there, or choose another port",
			 d->options.listen);
		return -EADDRINUSE;
	}
	d->uplink = uplink_open(d);
	err = d->uplink ? control_open(d) : -ENOMEM;
	if (err)
		snprintf(why, why_size,
			 "%s/scnoded.sock: %s; choose another run directory with --run",
			 d->options.run, strerror(-err));
	else
		steps_open(d);
	if (!err)
		images_open(d, uplink_tell_store);
	return err;
}

static void close_all(struct scnoded *d)
{
	if (d->acceptor)
		acceptor_close(d->acceptor);
	if (d->uplink) {
		control_close(d);
		images_close(d);
		steps_close(d);
		uplink_close(d->uplink);
	}
	lobby_close(d->lobby);
	remote_close(d->remote);
	turn_close(d->turn);
	if (d->cores)
		cores_close(d->cores);
	auth_close(d->auth);
}

static void serve(struct scnoded *d)
{
	ev_timer_init(&d->tick, tick, TICK_S, TICK_S);
	d->tick.data = d;
	ev_timer_start(d->loop, &d->tick);
	daemon_say("ready, host %s, port %d, %u cores, cgroups %s", d->name,
		   acceptor_port(d->acceptor), cores_count(d->cores), cgroup_form_name(d->form));
	daemon_run(d->loop);
	if (d->options.is_transient) {
		steps_end_all(d);
		remote_end_all(d->remote);
	}
	ev_timer_stop(d->loop, &d->tick);
}

int main(int argc, char **argv)
{
	static struct scnoded d = {.rejoin_fd = -1, .lock = -1};
	char why[1024];
	int err;

	if (role_play(argc, argv, &err))
		return err;
	TAILQ_INIT(&d.steps);
	TAILQ_INIT(&d.pending);
	TAILQ_INIT(&d.images);
	err = scnoded_options_read(&d.options, argc, argv, why, sizeof(why));
	if (err == 1)
		return 0;
	if (err) {
		daemon_say("%s", why);
		return SCNODED_EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	err = open_all(&d, why, sizeof(why));
	if (err)
		daemon_say("%s", why);
	else
		serve(&d);
	close_all(&d);
	if (!err && d.options.is_transient)
		record_close(d.options.run);
	return err ? EXIT_FAILED : 0;
}
