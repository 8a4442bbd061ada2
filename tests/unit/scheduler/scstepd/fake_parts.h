/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_parts - the parts that course.c owns and calls, without anything behind them: what is called
 * is written down, one word or sentence after another, for logged() to compare. For one file of a
 * test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_PARTS_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_PARTS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/link.h"
#include "scheduler/scstepd/absence.h"
#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/control.h"
#include "scheduler/scstepd/input.h"
#include "scheduler/scstepd/leader.h"
#include "scheduler/scstepd/output.h"
#include "scheduler/scstepd/pmi.h"
#include "scheduler/scstepd/pmix/nspace.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill.h"
#include "scheduler/scstepd/transport.h"
#include "tests/harness/tap.h"

static char parts_log[2000];
/* The answers of the parts. */
static struct {
	const char *missing; /* the part that cannot be opened */
	const char *nspace_failure;
	int start_code; /* of ranks_start() */
	size_t n_alive, n_children;
	bool is_awaited;     /* by the leader: scrun */
	const char *told_op; /* that the leader takes */
	int combined, control_kill_rc;
	uid_t uid; /* of a caller */
	const char *role;
	struct rank rank; /* the only one */
	const struct tree_events *events;
	const struct standstill_events *standstill;
	bool has_scrun; /* that is told to leave */
	int go_on_rc;   /* of tree_go_on() */
} parts;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t used = strlen(parts_log);
	va_list args;

	if (used && used + 1 < sizeof(parts_log)) {
		strcat(parts_log, " ");
		used++;
	}
	va_start(args, format);
	vsnprintf(parts_log + used, sizeof(parts_log) - used, format, args);
	va_end(args);
}

/* Asserts what was called since the last time. */
#define logged(want)                                                                               \
	do {                                                                                       \
		is_str(parts_log, want);                                                           \
		parts_log[0] = '\0';                                                               \
	} while (0)

/* Somewhere, if it is not the one that is missing. */
static void *part(const char *name)
{
	static char somewhere;

	say("%s", name);
	return parts.missing && !strcmp(parts.missing, name) ? NULL : &somewhere;
}

/* ---- opened and closed ---- */

struct auth *auth_open(struct ev_loop *loop, const char *socket)
{
	return part("auth");
}
struct control *control_open(struct step *step, int fd)
{
	return part("control");
}
struct output *output_open(struct step *step)
{
	return part("output");
}
struct input *input_open(struct step *step)
{
	return part("input");
}
struct ranks *ranks_open(struct step *step)
{
	return part("ranks");
}
struct standstill *standstill_open(struct step *step, const struct standstill_events *events)
{
	parts.standstill = events;
	errno = ENOSPC;
	return part("standstill");
}
struct leader *leader_open(struct step *step)
{
	return part("leader");
}
struct tree *tree_open(struct ev_loop *loop, struct auth *auth, const struct order *order,
		       const struct tree_events *events, void *owner)
{
	parts.events = events;
	return part("tree");
}
struct collectives *collective_open(const struct worlds *worlds, size_t here, struct tree *tree)
{
	return part("collective");
}
int server_open(struct step *step)
{
	return part("server") ? 0 : -ENOMEM;
}
struct bind *bind_open(const struct order *order, const char *cpus, char *why, size_t why_size)
{
	struct bind *bind = part("bind");

	say("<%s>", cpus);
	if (!bind) {
		snprintf(why, why_size, "no cores");
		errno = EPERM;
	}
	return bind;
}

#define FAKE_CLOSE(name, ...)                                                                      \
	void name(__VA_ARGS__)                                                                     \
	{                                                                                          \
	}
FAKE_CLOSE(auth_close, struct auth *auth)
FAKE_CLOSE(control_close, struct control *control)
FAKE_CLOSE(output_close, struct output *output)
FAKE_CLOSE(input_close, struct input *input)
FAKE_CLOSE(ranks_close, struct ranks *ranks)
FAKE_CLOSE(leader_close, struct leader *leader)
FAKE_CLOSE(standstill_close, struct standstill *standstill)
FAKE_CLOSE(tree_close, struct tree *tree)
FAKE_CLOSE(collective_close, struct collectives *collectives)
FAKE_CLOSE(bind_close, struct bind *bind)
FAKE_CLOSE(server_close, void)
FAKE_CLOSE(pmi_close, void)
FAKE_CLOSE(publish_close, void)
FAKE_CLOSE(transport_close, void)
FAKE_CLOSE(absence_close, struct step *step)
FAKE_CLOSE(shift_open, struct ev_loop *loop)

/* ---- scnoded and scrun ---- */

void control_adopt(struct control *control, const struct world *world)
{
	say("adopt %u", world->number);
}
void control_started(struct control *control)
{
	say("started");
}
void control_failed(struct control *control, int code, const char *text)
{
	say("control_failed %d '%s'", code, text);
}
void control_ended(struct control *control, int code, const char *text)
{
	say("control_ended %d '%s'", code, text);
}
void control_migrated(struct control *control, uint64_t serial, bool is_changed, const char *text,
		      double stood_s)
{
	say("control_migrated %d '%s'", is_changed, text);
}
void control_shut(struct control *control, bool is_shut)
{
	say(is_shut ? "shut" : "open");
}
void control_part(struct control *control)
{
	say("control_part");
}
void control_return(struct control *control)
{
	say("control_return");
}
int control_kill(struct control *control)
{
	say("control_kill");
	return parts.control_kill_rc;
}
void leader_enter(struct leader *leader, struct link *link)
{
	say("leader_enter");
}
bool leader_told(struct leader *leader, const char *op, size_t from, const json_t *head,
		 const char *body, size_t size)
{
	return parts.told_op && !strcmp(parts.told_op, op) && part("leader_told");
}
void leader_signal(struct leader *leader, int signo)
{
	say("leader_signal %d", signo);
}
void leader_end(struct leader *leader, int code, const char *text)
{
	say("leader_end %d '%s'", code, text);
}
bool leader_part(struct leader *leader)
{
	say("leader_part");
	return !parts.has_scrun;
}
bool leader_is_awaited(const struct leader *leader)
{
	return parts.is_awaited;
}
void leader_met(struct leader *leader)
{
	say("leader_met");
}
void leader_over(struct leader *leader)
{
	say("leader_over");
}
uid_t link_uid(const struct link *link)
{
	return parts.uid;
}
const char *link_role(const struct link *link)
{
	return parts.role;
}
void link_close(struct link *link, double linger_s)
{
	say("link_close");
}

/* ---- the tree ---- */

void tree_enter(struct tree *tree, struct link *link)
{
	say("tree_enter");
}
void tree_hold(struct tree *tree)
{
	say("tree_hold");
}
void tree_release(struct tree *tree)
{
}
void tree_part(struct tree *tree)
{
	say("tree_part");
}
int tree_go_on(struct tree *tree, const struct order *order)
{
	say("tree_go_on");
	return parts.go_on_rc;
}
size_t tree_children(const struct tree *tree)
{
	return parts.n_children;
}
void step_send(struct step *step, int64_t to, json_t *head, const void *body, size_t size)
{
	char *text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);

	say("send %d %s", (int)to, text ? text : "none");
	free(text);
	json_decref(head);
}
void step_failed(struct step *step, uint32_t world, int64_t rank, int code, const char *text)
{
	say("step_failed %u:%d %d '%s'", world, (int)rank, code, text);
}
int collective_told(struct collectives *collectives, const json_t *head, const char *body,
		    size_t size)
{
	say("meet_told %zu", size);
	return 0;
}
int collective_combine(struct collectives *collectives, const char *op, size_t child,
		       const json_t *head, const char *body, size_t size)
{
	say("combine %zu", child);
	return parts.combined;
}

/* ---- ranks ---- */

int ranks_start(struct ranks *ranks, struct world *world, int64_t *ret_rank, char *why,
		size_t why_size)
{
	say("start %u", world->number);
	if (!parts.start_code)
		return 0;
	*ret_rank = 1;
	snprintf(why, why_size, "no program");
	return parts.start_code;
}
void ranks_go(struct ranks *ranks, const struct world *world)
{
	say("go %u", world->number);
}
size_t ranks_count(const struct ranks *ranks)
{
	return 1;
}
struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return &parts.rank;
}
size_t ranks_alive(const struct ranks *ranks)
{
	return parts.n_alive;
}
void ranks_signal(struct ranks *ranks, int signo)
{
	say("signal %d", signo);
}
char *bind_text(const struct bind *bind, uint32_t slot)
{
	return slot ? NULL : strdup("core 0");
}
int nspace_register(const struct step *step, const struct world *world, char *why, size_t why_size)
{
	say("register %u", world->number);
	if (!parts.nspace_failure)
		return 0;
	snprintf(why, why_size, "%s", parts.nspace_failure);
	return -EIO;
}
void input_begin(struct input *input)
{
	say("input_begin");
}
void input_told(struct input *input, const char *body, size_t size)
{
	say("input %zu", size);
}
void input_window(struct input *input, int columns, int rows)
{
	say("window %dx%d", columns, rows);
}
void output_room(struct output *output, int64_t bytes)
{
	say("room %d", (int)bytes);
}
void output_check(struct output *output)
{
	say("output_check");
}
void standstill_expect(struct standstill *standstill, const struct world *world)
{
	say("expect %u", world->number);
}
void standstill_begin(struct standstill *standstill, const json_t *head)
{
	say("standstill %s", json_string_value(json_object_get(head, "devices")));
}
void standstill_ready(struct standstill *standstill, const char *why)
{
	say("stands '%s'", why ? why : "");
}
void absence_told(struct step *step, const json_t *head)
{
	say("absent");
}

/* ---- PMIx ---- */

void pmi_release(void)
{
	say("pmi_release");
}
void debug_release(const struct step *step)
{
	say("debug_release");
}
void modex_asked(struct step *step, size_t from, const json_t *head)
{
	say("modex_asked %zu", from);
}
void modex_answered(struct step *step, const json_t *head, const char *body, size_t size)
{
	say("modex_answered %zu", size);
}
void ask_answered(struct step *step, const json_t *head, const char *body, size_t size)
{
	say("ask_answered %zu", size);
}
void event_told(struct step *step, const json_t *head, const char *body, size_t size)
{
	say("event %zu", size);
}
void publish_told(struct step *step, const char *op, size_t from, const json_t *head,
		  const char *body, size_t size)
{
	say("publish_told %s %zu", op, from);
}

#endif
