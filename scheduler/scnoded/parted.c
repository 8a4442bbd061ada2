// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/parted.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/briefing.h"
#include "scheduler/scnoded/holdings/inquiry.h"
#include "scheduler/scnoded/holdings/look.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/nspid.h"

#define PAUSE_S 0.2 /* between two looks at a job: its user's scstepd can ask for any number */
/* An MPI may keep its shared memory in a file that it has deleted already: of 4 to 8 MiB. */
#define GHOST_BYTES (16u << 20)

struct parted {
	ev_timer pause;         /* until it may be looked at again */
	struct errand *inquiry; /* NULL: none is under way */
	bool is_known;          /* all was looked at and dumped, or could not be */
	bool is_dumped;         /* just now */
	bool is_restored;       /* from its images: its order is an old one */
	char *devices;          /* that it is to open then; NULL: those that it had */
	char *obstacle;         /* NULL: none was found */
	void (*woken)(struct step *step);
	struct survey_rank *ranks;
	size_t n_ranks;
};

void parted_forget(struct step *step)
{
	struct parted *parted = step->parted;

	if (!parted)
		return;
	ev_timer_stop(step->daemon->loop, &parted->pause);
	errand_stop(parted->inquiry);
	free(parted->devices);
	free(parted->obstacle);
	free(parted->ranks);
	free(parted);
	step->parted = NULL;
}

/* ---- who its ranks are ---- */

static void on_pause(struct ev_loop *loop, ev_timer *timer, int events);

/* Its words name processes of the job only. They serve for names in sentences. */
static void note_rank(struct step *step, const struct pidns_table *table, const json_t *pair)
{
	struct parted *parted = step->parted;
	json_int_t number = json_integer_value(json_array_get(pair, 1));
	json_int_t told = json_integer_value(json_array_get(pair, 0));
	pid_t pid = told > 0 && told <= INT_MAX ? pidns_find(table, step->ns, (pid_t)told) : 0;

	if (pid && number >= 0 && number < HOLDINGS_NO_RANK)
		parted->ranks[parted->n_ranks++] = (struct survey_rank){pid, (uint32_t)number};
}

void parted_announced(struct step *step, const json_t *head)
{
	const json_t *ranks = json_object_get(head, "ranks");
	size_t n = json_array_size(ranks);
	struct pidns_table table = {0};

	/* It has come back by itself, and parts again before it got its answer. */
	if (step->parted && step->parted->is_dumped)
		return;
	if (n > step->order->hosts[step->order->here].ranks)
		n = step->order->hosts[step->order->here].ranks;
	parted_forget(step);
	step->parted = calloc(1, sizeof(*step->parted));
	if (!step->parted)
		return;
	ev_init(&step->parted->pause, on_pause);
	step->parted->pause.data = step;
	if (n)
		step->parted->ranks = calloc(n, sizeof(*step->parted->ranks));
	if (!step->parted->ranks || nspid_list(step, &table))
		return;
	for (size_t i = 0; i < n; i++)
		note_rank(step, &table, json_array_get(ranks, i));
	pidns_fini(&table);
}

/* ---- the look ---- */

static void call_back(struct step *step)
{
	step->parted->is_known = true;
	step->parted->is_dumped = false;
	/* While it was dumped it may have come back by itself, and waits for the answer. */
	if (!step->control)
		parted_wake(step);
	step->parted->woken(step);
}

/* One line is told, to be freed: it goes to the user as the one reason. */
static char *first_of(const char *lines)
{
	size_t n = strcspn(lines, "\n");

	return daemon_text("%.*s%s", (int)n, lines,
			   lines[n] ? "; other things are in the way as well, which the next try "
				      "tells"
				    : "");
}

/* All of the job but its init, to be freed; *@ret_root: its scstepd, 0 = not found. */
static pid_t *members_of(const struct step *step, size_t *ret_n, pid_t *ret_root)
{
	struct pidns_table table = {0};
	pid_t *members;

	*ret_n = 0;
	*ret_root = 0;
	if (nspid_list(step, &table))
		return NULL;
	members = calloc(table.n + 1, sizeof(*members));
	for (size_t i = 0; members && i < table.n; i++) {
		if (table.all[i].outer == step->pid)
			continue;
		if (table.all[i].inner == INIT_CHILD && nspid_is_scstepd(step, table.all[i].outer))
			*ret_root = table.all[i].outer;
		members[(*ret_n)++] = table.all[i].outer;
	}
	pidns_fini(&table);
	return members;
}

/* The processes that are looked at, and written down. Free its members. False with errno. */
static bool order_survey(const struct step *step, struct survey_order *ret)
{
	size_t n;
	pid_t root, *members = members_of(step, &n, &root);

	*ret = (struct survey_order){.root = root,
				     .ranks = step->parted->ranks,
				     .n_ranks = step->parted->n_ranks,
				     .members = members,
				     .n_members = n,
				     .limit_ms = LOOK_LIMIT_MS};
	errno = members ? ESRCH : ENOMEM;
	if (members && root)
		return true;
	free(members);
	return false;
}

static void give_up(struct step *step, const char *why)
{
	step->parted->obstacle =
		daemon_text("host %s can't look at the processes of job %llu: %s; try again later",
			    step->daemon->name, (unsigned long long)step->id, why);
	call_back(step);
}

static void on_dumped(struct step *step, const char *text)
{
	if (text)
		step->parted->obstacle = daemon_text("%s", text);
	call_back(step);
}

static void dump(struct step *step)
{
	struct survey_order order;

	if (!order_survey(step, &order)) {
		give_up(step, strerror(errno));
		return;
	}
	step->parted->is_dumped = true;
	images_dump(step, &order, on_dumped);
	free((pid_t *)(uintptr_t)order.members);
}

static void on_looked(const char *text, void *owner)
{
	struct step *step = owner;

	step->parted->inquiry = NULL;
	if (text)
		step->parted->obstacle = first_of(text);
	if (!text && images_are_wanted(step))
		dump(step);
	else
		call_back(step);
}

static void look(struct step *step)
{
	struct restorable_terms terms = {.job = step->id,
					 .host = step->daemon->name,
					 .ghost_bytes = GHOST_BYTES,
					 .keeps_locks = true};
	struct survey_order order;

	step->look_from = clock_monotonic_s() + PAUSE_S;
	if (order_survey(step, &order)) {
		step->parted->inquiry =
			inquiry_start(step->daemon->loop, &order, &terms, on_looked, step);
		free((pid_t *)(uintptr_t)order.members);
		errno = ENOMEM;
	}
	if (!step->parted->inquiry)
		give_up(step, strerror(errno));
}

static void on_pause(struct ev_loop *loop, ev_timer *timer, int events)
{
	look(timer->data);
}

void parted_closed(struct step *step, void (*woken)(struct step *step))
{
	double rest = step->look_from - clock_monotonic_s();

	step->parted->woken = woken;
	/* One that has come back meanwhile was lost again. */
	if (step->parted->is_dumped)
		return;
	if (rest <= 0) {
		look(step);
		return;
	}
	ev_timer_set(&step->parted->pause, rest, 0);
	ev_timer_start(step->daemon->loop, &step->parted->pause);
}

/* ---- it comes back ---- */

/* Adds what is other than in its image. */
static void tell_moved(const struct step *step, json_t *head)
{
	struct pidns_table table = {0};
	json_t *pairs = json_array();

	if (!nspid_list(step, &table))
		for (size_t i = 0; i < table.n; i++)
			json_array_append_new(pairs,
					      json_pack("[I, I]", (json_int_t)table.all[i].inner,
							(json_int_t)table.all[i].outer));
	pidns_fini(&table);
	json_object_set_new(head, "pids", pairs);
	if (step->parted->devices)
		json_object_set_new(head, "devices", json_string(step->parted->devices));
	briefing_add(step, head);
}

json_t *parted_back(struct step *step)
{
	const struct parted *parted = step->parted;
	const char *text;
	json_t *head;

	if (!parted)
		return json_pack("{s:s}", "op", OP_REJOINED);
	if (parted->is_dumped)
		return NULL;
	/* Whoever may send signals to the job may do that as well. */
	text = parted->is_known ? parted->obstacle
				: "its scstepd was woken by a signal before its processes were "
				  "looked at; try again";
	head = json_pack("{s:s, s:b, s:s*}", "op", OP_REJOINED, "is_restorable", !text, "text",
			 text);
	if (parted->is_restored)
		tell_moved(step, head);
	parted_forget(step);
	return head;
}

void parted_restored(struct step *step, const char *devices)
{
	parted_forget(step);
	step->parted = calloc(1, sizeof(*step->parted));
	if (step->parted) {
		ev_init(&step->parted->pause, on_pause);
		step->parted->is_known = step->parted->is_restored = true;
		step->parted->devices = devices ? strdup(devices) : NULL;
	}
	parted_wake(step);
}

void parted_wake(const struct step *step)
{
	if (pidfd_send_signal(step->pidfd, SIGNALS_WAKE, NULL, 0))
		daemon_say("job %llu: its scstepd can't be woken: %m",
			   (unsigned long long)step->id);
}
