// SPDX-License-Identifier: BSD-3-Clause
/*
 * fault_script - the parser of fault's script; the grammar is in fault.h. Knows no device.
 */
#include "pmcore/device/fault.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE_DEFAULT 3
#define DISTANCE_MAX 64
#define DELAY_DEFAULT_NS 1000000ull
#define DELAY_MAX_NS 10000000000ull

static const char *const names[FAULT_ACTIONS] = {
	[FAULT_DROP] = "drop",       [FAULT_DUP] = "dup",     [FAULT_CORRUPT] = "corrupt",
	[FAULT_REORDER] = "reorder", [FAULT_DELAY] = "delay",
};

/* One action as written. */
struct entry {
	enum fault_action action;
	uint32_t ppm;
	uint32_t distance;
	uint64_t delay_ns;
	int rail; /* -1 = every */
};

struct parser {
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int fail(struct parser *p, const char *fmt, ...)
{
	size_t used = (size_t)snprintf(p->why, p->why_size, "fault: ");
	va_list args;

	va_start(args, fmt);
	if (used < p->why_size)
		vsnprintf(p->why + used, p->why_size - used, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* A decimal number without sign at *at, moved behind it. */
static bool take_number(const char **at, double *ret)
{
	char *end;

	if (!isdigit((unsigned char)**at) ||
	    (**at == '0' && tolower((unsigned char)(*at)[1]) == 'x'))
		return false;
	*ret = strtod(*at, &end);
	*at = end;
	return true;
}

static int take_rate(struct parser *p, const char **at, struct entry *e)
{
	const char *start = *at;
	double rate;

	if (!take_number(at, &rate))
		return fail(
			p,
			"\"%s\" is no rate; write as drop=1%% or, in parts per million, drop=500",
			start);
	if (**at == '%') {
		rate *= 10000;
		(*at)++;
	}
	if (rate > 1000000)
		return fail(p, "rate \"%s\" is more than 100%%", start);
	e->ppm = (uint32_t)(rate + 0.5);
	return 0;
}

static int take_how(struct parser *p, const char **at, struct entry *e)
{
	const char *start = *at;
	double value;

	if (e->action != FAULT_REORDER && e->action != FAULT_DELAY)
		return fail(p, "\"/%s\": only reorder and delay take more than a rate", start);
	if (!take_number(at, &value))
		return fail(p,
			    "\"/%s\": a number has to follow, as in reorder=2%%/3, delay=5%%/2ms",
			    start);
	if (e->action == FAULT_REORDER) {
		if (value < 1 || value > DISTANCE_MAX)
			return fail(p, "reorder: \"/%s\" is not in 1..%d packets", start,
				    DISTANCE_MAX);
		e->distance = (uint32_t)value;
		return 0;
	}
	if (!strncmp(*at, "us", 2))
		value *= 1e3;
	else if (!strncmp(*at, "ms", 2))
		value *= 1e6;
	else
		return fail(p, "delay: \"/%s\" lacks its unit, write us or ms", start);
	*at += 2;
	if (value > (double)DELAY_MAX_NS)
		return fail(p, "delay: \"/%s\" is more than 10 s", start);
	e->delay_ns = (uint64_t)value;
	return 0;
}

static int take_rail(struct parser *p, const char **at, struct entry *e)
{
	const char *start = *at;
	double rail;

	if (!take_number(at, &rail) || rail >= PM_RAILS_MAX || rail != (int)rail)
		return fail(p, "\"@%s\" is no rail; write 0..%d", start, PM_RAILS_MAX - 1);
	e->rail = (int)rail;
	return 0;
}

static int parse_entry(struct parser *p, const char *text, struct entry *ret)
{
	struct entry e = {.distance = DISTANCE_DEFAULT, .delay_ns = DELAY_DEFAULT_NS, .rail = -1};
	size_t len = strcspn(text, "=");
	const char *at = text + len;
	int err, action = 0;

	while (action < FAULT_ACTIONS &&
	       (strlen(names[action]) != len || strncmp(names[action], text, len)))
		action++;
	if (action == FAULT_ACTIONS)
		return fail(p,
			    "\"%s\": no such action; there are drop, dup, corrupt, reorder, delay",
			    text);
	if (*at++ != '=')
		return fail(p, "\"%s\" lacks its rate; write as %s=1%%", text, names[action]);
	e.action = (enum fault_action)action;
	err = take_rate(p, &at, &e);
	if (!err && *at == '/' && at++)
		err = take_how(p, &at, &e);
	if (!err && *at == '@' && at++)
		err = take_rail(p, &at, &e);
	if (!err && *at)
		err = fail(p, "\"%s\": nothing may follow before \"%s\"", text, at);
	if (!err)
		*ret = e;
	return err;
}

static void apply(struct fault_script *script, const struct entry *e)
{
	for (int r = 0; r < PM_RAILS_MAX; r++) {
		struct fault_rules *rules = &script->rails[r];

		if (e->rail >= 0 && e->rail != r)
			continue;
		rules->ppm[e->action] = e->ppm;
		if (e->action == FAULT_REORDER)
			rules->distance = e->distance;
		if (e->action == FAULT_DELAY)
			rules->delay_ns = e->delay_ns;
	}
}

int fault_parse(const char *text, struct fault_script *ret_script, char *why, size_t why_size)
{
	struct parser p = {why, why_size};
	struct fault_script script = {0};
	struct entry everywhere[16], here[16];
	int n_everywhere = 0, n_here = 0;
	char buf[256], *rest = buf, *word, *end;

	if ((size_t)snprintf(buf, sizeof(buf), "%s", text) >= sizeof(buf))
		return fail(&p, "the script is longer than %zu characters", sizeof(buf) - 1);
	word = strsep(&rest, ":");
	errno = 0;
	script.seed = strtoull(word, &end, 0);
	if (!isdigit((unsigned char)*word) || *end || errno)
		return fail(&p,
			    "\"%s\" is no seed; a script is SEED:ACTION=RATE:..., as 1:drop=1%%",
			    word);
	while ((word = strsep(&rest, ":"))) {
		struct entry e;
		int err = parse_entry(&p, word, &e);

		if (err)
			return err;
		if (n_everywhere == 16 || n_here == 16)
			return fail(&p, "more than 16 actions");
		if (e.rail < 0)
			everywhere[n_everywhere++] = e;
		else
			here[n_here++] = e;
	}
	for (int i = 0; i < n_everywhere; i++)
		apply(&script, &everywhere[i]);
	for (int i = 0; i < n_here; i++)
		apply(&script, &here[i]);
	*ret_script = script;
	return 0;
}
