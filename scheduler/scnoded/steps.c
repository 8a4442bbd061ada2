// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/briefing.h"
#include "scheduler/scnoded/steps.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "pmcore/util/pidns.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scnoded/control.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/fork.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/limit.h"
#include "scheduler/scnoded/memory.h"
#include "scheduler/scnoded/parted.h"
#include "scheduler/scnoded/record.h"
#include "scheduler/scnoded/restart.h"
#include "scheduler/scnoded/sweep.h"
#include "scheduler/scnoded/uplink.h"
#include "scheduler/scnoded/waiting.h"

#define IDLE_SHARE 0.02 /* of one core: less is idle */
#define END_S 12.0      /* a scstepd that has told its end: beyond FRONT_LINGER_S */
#define VANISHED_S 1.0  /* one that closed its link without a word comes back or ends by then */
#define END_ALL_S (STOP_S + END_S + 2.0)
#define LIMIT_AGAIN_S 0.05
#define DUMP_S 600.0 /* a CRIU that a scnoded before us has started is done by then */
#define EXIT_LOST 123

/* ---- the end ---- */

static void forget(struct step *step)
{
	struct scnoded *d = step->daemon;

	TAILQ_REMOVE(&d->steps, step, all);
	ev_io_stop(d->loop, &step->exit);
	ev_timer_stop(d->loop, &step->limit);
	ev_timer_stop(d->loop, &step->deserted);
	ev_timer_stop(d->loop, &step->killing);
	if (step->pidfd >= 0)
		close(step->pidfd);
	if (step->control)
		link_close(step->control, 0);
	waiting_close(step->waiting);
	images_forget(step);
	parted_forget(step);
	steps_show_out(d, step->id);
	order_free(step->order);
	free(step->tmp);
	free(step->text);
	free(step);
}

static void report(struct step *step)
{
	if (step->is_reported)
		return;
	/* libev may have taken the status of a child before its pidfd was looked at: see ended() */
	if (!step->text)
		step->text = daemon_text("its scstepd on %s ended and did not say why",
					 step->daemon->name);
	uplink_tell_failed(step->daemon, step->id, EXIT_LOST, step->text);
	step->is_reported = true;
}

/* Nothing of it is left. */
static void end(struct step *step, uint64_t cpu_ns)
{
	report(step);
	uplink_tell_gone(step->daemon, step->id, cpu_ns);
	forget(step);
}

static void swept(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct step *step = watcher->data;

	(void)loop;
	(void)events;
	end(step, step->cpu_ns);
}

/*
 * Nobody of it lives: takes away what is left. In a process of its own: a user may have left
 * millions of files.
 */
static void sweep(struct step *step)
{
	struct scnoded *d = step->daemon;
	uint64_t cpu_ns = step->group ? cgroup_cpu_ns(step->group) : 0;
	pid_t sweeper;

	if (step->group) {
		int err;

		turn_drop(d->turn, step->id);
		err = cgroup_remove(step->group);
		if (err == -EBUSY)
			return; /* somebody came in between: is looked at again */
		if (err) {
			daemon_say("job %llu: its cgroup cannot be removed: %s",
				   (unsigned long long)step->id, strerror(-err));
			cgroup_forget(step->group);
		}
		step->group = NULL;
	}
	ev_timer_stop(d->loop, &step->deserted);
	ev_io_stop(d->loop, &step->exit);
	if (step->pidfd >= 0)
		close(step->pidfd);
	step->cpu_ns = cpu_ns;
	sweeper = sweep_begin(d->options.run, step->id, step->order->uid);
	step->pidfd = sweeper > 0 ? pidfd_open(sweeper, 0) : -1;
	if (step->pidfd < 0) {
		end(step, cpu_ns);
		return;
	}
	ev_init(&step->exit, swept);
	step->exit.data = step;
	ev_io_set(&step->exit, step->pidfd, EV_READ);
	ev_io_start(d->loop, &step->exit);
}

static void look_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct step *step = timer->data;

	(void)loop;
	(void)events;
	if (step->group && !cgroup_is_deserted(step->group)) {
		cgroup_kill_all(step->group);
		return;
	}
	sweep(step);
}

void steps_leave(struct step *step, const char *text)
{
	struct scnoded *d = step->daemon;

	if (step->is_leaving)
		return;
	step->is_leaving = true;
	/* Nothing is started for it any more. */
	restart_forget(step);
	if (!step->text && text)
		step->text = daemon_text("%s", text);
	if (step->group)
		cgroup_kill_all(step->group);
	else if (step->pid > 0)
		kill(step->pid, SIGKILL);
	ev_timer_stop(d->loop, &step->limit);
	ev_timer_set(&step->deserted, 0, DESERTED_S);
	ev_timer_start(d->loop, &step->deserted);
}

static void too_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct step *step = timer->data;
	double left = step->until - awake_now(&step->daemon->awake, clock_monotonic_ns());
	char *text;

	(void)events;
	/* While we stood still it could not answer. */
	if (left > 0) {
		ev_timer_set(timer, left < LIMIT_AGAIN_S ? LIMIT_AGAIN_S : left, 0);
		ev_timer_start(loop, timer);
		return;
	}
	text = daemon_text("its scstepd on %s did not answer", step->daemon->name);
	steps_leave(step, text);
	free(text);
}

static void limit(struct step *step, double seconds)
{
	step->until = awake_now(&step->daemon->awake, clock_monotonic_ns()) + seconds;
	ev_timer_stop(step->daemon->loop, &step->limit);
	ev_timer_set(&step->limit, seconds, 0);
	ev_timer_start(step->daemon->loop, &step->limit);
}

/* One that has told its end gives scrun what it has not read yet. */
void steps_await_end(struct step *step)
{
	limit(step, step->is_reported ? END_S : VANISHED_S);
}

void steps_await_return(struct step *step)
{
	limit(step, REJOIN_S);
}

void steps_stop(struct step *step, const char *text)
{
	if (step->is_leaving)
		return;
	if (step->is_reported) { /* it ends already */
		if (!ev_is_active(&step->limit))
			steps_await_end(step);
	} else if (step->control &&
		   !link_send(step->control, json_pack("{s:s, s:s}", "op", OP_STOP, "text", text),
			      NULL, 0)) {
		step->is_stopping = true;
		limit(step, STOP_S);
	} else {
		steps_leave(step, text);
	}
}

void steps_look_at_memory(struct scnoded *d)
{
	struct step *step;
	char *text;

	TAILQ_FOREACH(step, &d->steps, all) {
		if (step->is_leaving || step->is_over || !step->control ||
		    !memory_is_exceeded(step))
			continue;
		step->is_over = step->is_stopping = true;
		text = memory_complaint(step);
		daemon_say("job %llu: %s", (unsigned long long)step->id, text);
		link_send(step->control,
			  json_pack("{s:s, s:s, s:i}", "op", OP_STOP, "text", text, "code",
				    MEMORY_EXIT),
			  NULL, 0);
		limit(step, STOP_S);
		free(text);
	}
}

/* The signal; 0: none. An init tells that of its scstepd by its exit code. */
static int killed_by(const struct step *step, const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED)
		return info->si_status;
	return step->ns && info->si_status > INIT_SIGNALLED ? info->si_status - INIT_SIGNALLED : 0;
}

/* The pidfd: its scstepd has ended. */
static void ended(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct step *step = watcher->data;
	siginfo_t info = {0};
	char *text = NULL;
	int signo = 0;

	(void)events;
	ev_io_stop(loop, watcher);
	/* Not our child after a start anew, and libev may have been faster. */
	if (!waitid((idtype_t)P_PIDFD, (id_t)step->pidfd, &info, WEXITED | WNOHANG) && info.si_pid)
		signo = killed_by(step, &info);
	if (signo)
		text = daemon_text("its scstepd on %s was killed by signal %d (%s)",
				   step->daemon->name, signo, strsignal(signo));
	step->pid = 0;
	steps_leave(step, text);
	free(text);
}

/* ---- the beginning ---- */

static struct step *new_step(struct scnoded *d, struct order *order)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->daemon = d;
	step->id = order->id;
	step->order = order;
	step->pidfd = -1;
	step->waiting = waiting_open();
	ev_init(&step->exit, ended);
	ev_init(&step->limit, too_late);
	ev_init(&step->deserted, look_again);
	control_init(step);
	step->exit.data = step->limit.data = step->deserted.data = step;
	step->cpu_at = clock_monotonic_s();
	TAILQ_INSERT_TAIL(&d->steps, step, all);
	return step;
}

static void fail(struct step *step, char *text)
{
	daemon_say("job %llu: %s", (unsigned long long)step->id, text);
	step->is_reported = true;
	uplink_tell_failed(step->daemon, step->id, EXIT_START, text);
	free(text);
	steps_leave(step, NULL);
}

static void watch(struct step *step)
{
	step->pidfd = pidfd_open(step->pid, 0);
	if (step->order->job->wants_checkpoint)
		step->ns = pidns_of(step->pid);
	if (step->pidfd < 0 || (step->order->job->wants_checkpoint && !step->ns)) {
		step->pid = 0;
		steps_leave(step, NULL);
		return;
	}
	ev_io_set(&step->exit, step->pidfd, EV_READ);
	ev_io_start(step->daemon->loop, &step->exit);
}

static json_t *start_message(const struct step *step)
{
	json_t *head = json_pack("{s:s, s:b}", "op", OP_START, "is_leader", step->order->here == 0);

	briefing_add(step, head);
	return head;
}

/* Both groups, and the switch thread knows them before anybody is in them. */
static char *make_group(struct step *step)
{
	const char *remedy;
	struct scnoded *d = step->daemon;

	step->group = cgroup_open(d->form, d->options.cgroup, step->id);
	if (!step->group) {
		remedy = files_remedy(errno, "look after the cgroup file system");
		return daemon_text("host %s: cgroup %s/job-%llu: %m; %s", d->name,
				   d->options.cgroup, (unsigned long long)step->id, remedy);
	}
	/* Where that cannot be, main() has said so. */
	cgroup_limit(step->group,
		     limit_of(d->options.n_processes, step->order->hosts[step->order->here].ranks));
	if (turn_take(d->turn, step->id, step->group))
		return daemon_text("host %s: no memory", d->name);
	return memory_hold(step);
}

static void on_forked(struct step *step)
{
	record_mark(step->daemon->options.run, step->id, RECORD_RESTORED, true);
	record_process(step->daemon->options.run, step->id, step->pid);
	watch(step);
}

static void on_restored(struct step *step)
{
	step->is_begun = true;
	record_mark(step->daemon->options.run, step->id, RECORD_RESTORED, false);
	uplink_tell_started(step->daemon, step->id);
	steps_await_return(step);
}

static const struct restart_events restart_events = {.forked = on_forked,
						     .restored = on_restored,
						     .failed = fail};

void steps_start(struct scnoded *d, struct order *order, uint64_t round, const char *devices)
{
	char why[512], *text;
	struct step *step;
	int control = -1;

	if (steps_find(d, order->id) || !(step = new_step(d, order))) {
		uplink_tell_failed(d, order->id, EXIT_START, "this job is there already");
		order_free(order);
		return;
	}
	if (d->is_ending) {
		fail(step, daemon_text("host %s: its scnoded is ending", d->name));
		return;
	}
	if (record_make(d->options.run, order, memory_bound(step), &step->tmp, why, sizeof(why))) {
		fail(step, daemon_text("host %s: %s", d->name, why));
		return;
	}
	text = make_group(step);
	if (!text && round) {
		restart_begin(step, round, devices, &restart_events);
		return;
	}
	if (!text)
		text = fork_step(step, &control);
	if (text) {
		fail(step, text);
		return;
	}
	record_process(d->options.run, step->id, step->pid);
	watch(step);
	control_tie(step, control);
	if (step->control)
		link_send(step->control, start_message(step), NULL, 0);
	steps_invite(step);
}

void steps_tie(struct step *step, struct link *link)
{
	if (step->control)
		link_close(step->control, 0);
	step->control = link;
	ev_timer_stop(step->daemon->loop, &step->limit);
}

/* ---- beats ---- */

bool steps_is_idle(struct step *step, double now, uint64_t *cpu_ns)
{
	uint64_t cpu = step->group ? cgroup_cpu_ns(step->group) : step->cpu_ns;
	double passed = now - step->cpu_at;
	bool is_idle;

	/* Used time only grows: it can't be read now, as when descriptors are short. */
	if (cpu < step->cpu_ns) {
		*cpu_ns = step->cpu_ns;
		return false;
	}
	is_idle = passed > 0 && (double)(cpu - step->cpu_ns) / 1e9 < IDLE_SHARE * passed;

	step->cpu_ns = cpu;
	step->cpu_at = now;
	*cpu_ns = cpu;
	return is_idle;
}

/* ---- up and down ---- */

static void tired(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scnoded *d = timer->data;

	(void)loop;
	(void)events;
	daemon_say("jobs that did not end within %g s are left to the next scnoded here",
		   END_ALL_S);
	d->is_ending = false;
}

void steps_end_all(struct scnoded *d)
{
	struct step *step, *next;
	ev_timer timeout;

	d->is_ending = true;
	for (step = TAILQ_FIRST(&d->steps); step; step = next) {
		next = TAILQ_NEXT(step, all);
		steps_stop(step, "its scnoded was told to end");
	}
	ev_timer_init(&timeout, tired, END_ALL_S, 0);
	timeout.data = d;
	ev_timer_start(d->loop, &timeout);
	while (d->is_ending && !TAILQ_EMPTY(&d->steps))
		ev_run(d->loop, EVRUN_ONCE);
	ev_timer_stop(d->loop, &timeout);
}

/* A job that an earlier scnoded started. */
static void take_over(struct scnoded *d, uint64_t id)
{
	pid_t pid;
	struct order *order = record_read(d->options.run, id, &pid);
	struct step *step = order ? new_step(d, order) : NULL;
	/* Then CRIU may still work on it, and the switch thread keeps away from it for good. */
	bool is_dumped = record_has_mark(d->options.run, id, RECORD_DUMPED);

	if (!step) {
		daemon_say("job %llu left an unreadable record, which is removed",
			   (unsigned long long)id);
		order_free(order);
		/* Nobody waits for the end of that. */
		sweep_begin(d->options.run, id, (uid_t)-1);
		return;
	}
	step->group = cgroup_open(d->form, d->options.cgroup, id);
	step->pid = pid;
	if (step->group) {
		/* It was held before; the sentence about that is needed anew. */
		free(memory_hold(step));
		/* The next slot table says which job has its turn. */
		cgroup_freeze(step->group, false);
		if (!is_dumped)
			turn_take(d->turn, id, step->group);
	}
	if (pid <= 0) {
		steps_leave(step, "its scstepd ended while no scnoded was there");
		return;
	}
	if (d->form == CGROUP_NONE)
		cgroup_put_step(step->group, pid);
	watch(step);
	if (step->is_leaving)
		return;
	if (record_has_mark(d->options.run, id, RECORD_RESTORED)) {
		steps_leave(step, "its scnoded was started anew while it was restored");
		return;
	}
	/* it may have parted from the scnoded before */
	parted_wake(step);
	limit(step, is_dumped ? DUMP_S : REJOIN_S);
}

/* Groups without a record: the run directory was lost. */
static void clear_groups(struct scnoded *d)
{
	uint64_t *ids;
	ssize_t n = cgroup_list(d->form, d->options.cgroup, &ids);

	for (ssize_t i = 0; i < n; i++) {
		struct cgroup *group = steps_find(d, ids[i])
					       ? NULL
					       : cgroup_open(d->form, d->options.cgroup, ids[i]);

		if (!group)
			continue;
		cgroup_kill_all(group);
		daemon_say("job %llu of nobody is removed", (unsigned long long)ids[i]);
		if (cgroup_remove(group))
			cgroup_forget(group);
	}
	if (n > 0)
		free(ids);
}

void steps_open(struct scnoded *d)
{
	uint64_t *ids;
	size_t n = record_list(d->options.run, &ids);

	for (size_t i = 0; i < n; i++)
		take_over(d, ids[i]);
	free(ids);
	clear_groups(d);
}

void steps_close(struct scnoded *d)
{
	struct step *step;

	while ((step = TAILQ_FIRST(&d->steps))) {
		if (step->group) {
			turn_drop(d->turn, step->id);
			cgroup_forget(step->group);
		}
		forget(step);
	}
	steps_show_out(d, 0);
}
