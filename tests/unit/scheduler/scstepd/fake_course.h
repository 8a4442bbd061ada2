/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_course - a course among fake parts, led to any of its states; and its clock, which stands
 * still until the test moves it. For one file of a test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_COURSE_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_COURSE_H

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/course.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/fake_parts.h"

#define N_HOSTS 3
#define HOST "{\"name\":\"n\",\"tmpdir\":\"/tmp/job\",\"cpus\":\"0,2\"}"

static struct step step;

/* The order as host @here of @n_hosts gets it, with one rank on each. */
static inline json_t *order_of(size_t n_hosts, size_t here)
{
	static char name[] = "prog", address[] = "10.0.0.1:7711", cluster[] = "lab", cwd[] = "/",
		    names[N_HOSTS][8] = {"n0", "n1", "n2"};
	static char *argv[] = {name, NULL}, *none[] = {NULL};
	static uint32_t cores[] = {0};
	struct job_app app = {.argv = argv, .env = none, .ranks = (uint32_t)n_hosts};
	struct job job = {.name = name,
			  .ranks = (uint32_t)n_hosts,
			  .cores = 1,
			  .cwd = cwd,
			  .env = none,
			  .apps = &app,
			  .n_apps = 1};
	struct order_host hosts[N_HOSTS];
	struct order order = {.id = 7,
			      .key = 5,
			      .cluster = cluster,
			      .hosts = hosts,
			      .n_hosts = n_hosts,
			      .job = &job};

	for (uint32_t i = 0; i < n_hosts; i++)
		hosts[i] = (struct order_host){.name = names[i],
					       .address = address,
					       .first = i,
					       .ranks = 1,
					       .cores = cores,
					       .n_cores = 1};
	return order_encode(&order, here);
}

static inline void begin(void)
{
	memset(&parts, 0, sizeof(parts));
	is_int(course_open(&step, ev_loop_new(EVFLAG_AUTO), -1), 0);
	logged("auth control");
}

/* Takes @order. */
static inline void comes(json_t *order, const char *host)
{
	json_t *head = json_pack("{s:o, s:o}", "order", order, "host", json_loads(host, 0, NULL));

	course_order(&step, head);
	json_decref(head);
}

/* In JOIN, as host @here of @n_hosts. */
static inline void join(size_t n_hosts, size_t here)
{
	begin();
	comes(order_of(n_hosts, here), HOST);
	parts_log[0] = '\0';
	parts.rank = (struct rank){
		.world = worlds_get(&step.worlds, 0), .pid = 77, .path = (char *)(uintptr_t) "/p"};
	parts.n_alive = 1;
}

static inline void tell(const char *op, size_t from, const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	ok(head && !json_object_set_new(head, "op", json_string(op)));
	parts.events->message(op, from, head, "abc", 3, &step);
	json_decref(head);
}

/* In RUN. */
static inline void run(size_t n_hosts, size_t here)
{
	join(n_hosts, here);
	if (n_hosts > 1)
		parts.events->joined(&step);
	course_served(&step, NULL);
	course_adopted(&step, 0, NULL);
	tell(OP_GO, 0, "{\"world\":0}");
	is_int(step.state, STEP_RUN);
	parts_log[0] = '\0';
}

static inline void finish(void)
{
	struct order *order = step.order;
	struct ev_loop *loop = step.loop;

	logged("");
	course_close(&step);
	order_free(order);
	ev_loop_destroy(loop);
}

static inline void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	/* The check of the end is made before the loop waits. */
	for (int i = 0; i < 3; i++)
		ev_run(step.loop, EVRUN_NOWAIT);
}

#endif
