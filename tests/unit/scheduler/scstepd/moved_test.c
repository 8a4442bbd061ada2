// SPDX-License-Identifier: BSD-3-Clause
/* moved: a restored scstepd with two ranks here, and what it is told. Nobody is bound really. */
#include "scheduler/scstepd/moved.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill.h"
#include "tests/harness/tap.h"

#define HOSTS 2
#define RANKS 2

static char cluster[] = "lab", cwd[] = "/", variable[] = "A=1", prog[] = "a";
static char *env[] = {variable, NULL}, *none[] = {NULL}, *argv[] = {prog, NULL};
static uint32_t cores[] = {0, 1};

static struct {
	struct job_app app;
	struct job job;
	struct order_host hosts[HOSTS];
	struct order order;
	struct step step;
	struct rank ranks[RANKS];
	char bind;          /* what stands for it */
	bool has_no_memory; /* for a mask */
	bool has_no_core, has_no_devices;
	uint32_t incarnation;
	char devices[32], cpus[32];
	unsigned int n_bound;
	unsigned long mask; /* of the last */
	pid_t bound;
} t;

size_t ranks_count(const struct ranks *ranks)
{
	return RANKS;
}

struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return &t.ranks[i];
}

struct bind *bind_open(const struct order *order, const char *cpus, char *why, size_t why_size)
{
	ok(order == &t.order);
	snprintf(t.cpus, sizeof(t.cpus), "%s", cpus);
	snprintf(why, why_size, "no core is left");
	return t.has_no_core ? NULL : (struct bind *)&t.bind;
}

int standstill_moved(struct standstill *standstill, uint32_t incarnation, const char *devices)
{
	ok(standstill == t.step.standstill);
	t.incarnation = incarnation;
	snprintf(t.devices, sizeof(t.devices), "%s", devices ? devices : "as before");
	return t.has_no_devices ? -ENOMEM : 0;
}

int bind_mask(const struct bind *bind, uint32_t slot, unsigned long **ret)
{
	ok(bind == (struct bind *)&t.bind);
	if (t.has_no_memory)
		return -ENOMEM;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	**ret = 1ul << slot;
	return sizeof(**ret);
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
	t.n_bound++;
	t.bound = pid;
	is_int(size, sizeof(t.mask));
	memcpy(&t.mask, mask, sizeof(t.mask));
	return 0;
}

/* With ranks that are this process and one that is no more. */
static void begin(void)
{
	static const char *const names[] = {"h0", "h1"};

	memset(&t, 0, sizeof(t));
	t.app = (struct job_app){.argv = argv, .env = none, .ranks = 2 * HOSTS};
	t.job = (struct job){.name = prog,
			     .ranks = 2 * HOSTS,
			     .cores = 1,
			     .cwd = cwd,
			     .env = env,
			     .apps = &t.app,
			     .n_apps = 1};
	for (uint32_t h = 0; h < HOSTS; h++)
		t.hosts[h] = (struct order_host){.name = strdup(names[h]),
						 .address = strdup("10.0.0.1:1"),
						 .first = 2 * h,
						 .ranks = 2,
						 .cores = cores,
						 .n_cores = 2};
	t.order = (struct order){.id = 7,
				 .key = 5,
				 .cluster = cluster,
				 .hosts = t.hosts,
				 .n_hosts = HOSTS,
				 .job = &t.job};
	t.step.order = &t.order;
	t.ranks[0] = (struct rank){.pid = getpid(), .host_pid = 11, .slot = 0};
	t.ranks[1] = (struct rank){.pid = 4, .host_pid = 12, .slot = 1, .has_ended = true};
}

static void finish(void)
{
	for (size_t h = 0; h < HOSTS; h++) {
		free(t.hosts[h].name);
		free(t.hosts[h].address);
		if (t.hosts[h].cores != cores)
			free(t.hosts[h].cores);
	}
}

/* Its order, from other hosts and with another key and cores. */
static json_t *order_of_now(size_t n_hosts)
{
	static char names[][4] = {"n8", "n9"}, addresses[][12] = {"10.9.0.8:1", "10.9.0.9:1"};
	static uint32_t others[] = {6, 7};
	struct order_host hosts[HOSTS];
	struct job_app app = t.app;
	struct job job = t.job;
	struct order now = t.order;

	for (size_t h = 0; h < HOSTS; h++) {
		hosts[h] = t.hosts[h];
		hosts[h].name = names[h];
		hosts[h].address = addresses[h];
		hosts[h].cores = others;
	}
	now.hosts = hosts;
	now.n_hosts = n_hosts;
	now.key = 6;
	now.incarnation = 3;
	app.ranks = job.ranks = 2 * (uint32_t)n_hosts;
	job.apps = &app;
	now.job = &job;
	return order_encode(&now, 0);
}

/* Strings of its image are left alone, and freed here. */
static void takes(json_t *order, json_t *pids, const char *want)
{
	json_t *head = json_pack("{s:o*, s:o*}", "order", order, "pids", pids);
	struct order_host old[HOSTS];

	memcpy(old, t.hosts, sizeof(old));
	is_str(moved_take(&t.step, head), want);
	json_decref(head);
	for (size_t h = 0; h < HOSTS; h++)
		if (old[h].name != t.hosts[h].name) {
			is_str(old[h].address, "10.0.0.1:1");
			free(old[h].name);
			free(old[h].address);
		}
}

static json_t *pids_of_now(void)
{
	return json_pack("[[i, i], [i, i], [i, i]]", 1, 1000, (int)getpid(), 1001, 9, 1009);
}

TAP_TEST(moved_take__what_this_host_says)
{
	struct order_host old[HOSTS];
	json_t *head;

	begin();
	memcpy(old, t.hosts, sizeof(old));
	head = json_pack("{s:o, s:s, s:{s:s}, s:{s:s, s:s}}", "order", order_of_now(HOSTS),
			 "devices", "self+udp", "host", "cpus", "4,5", "memory", "kills", "/kills",
			 "text", "too much");
	t.step.memory_kills = strdup("/before");
	is_str(moved_take(&t.step, head), NULL);
	is_str(t.devices, "self+udp");
	is_str(t.cpus, "4,5");
	is_str(t.step.memory_kills, "/kills");
	is_str(t.step.memory_text, "too much");
	json_decref(head);
	free(t.step.memory_kills);
	free(t.step.memory_text);
	for (size_t h = 0; h < HOSTS; h++) {
		free(old[h].name);
		free(old[h].address);
	}
	finish();
}

static void fails(bool has_no_core, bool has_no_devices, const char *want)
{
	begin();
	t.has_no_core = has_no_core;
	t.has_no_devices = has_no_devices;
	takes(order_of_now(HOSTS), pids_of_now(), want);
	is_int(t.n_bound, 0);
	finish();
}

TAP_TEST(moved_take__what_is_lacking)
{
	fails(true, false, "no core is left");
	fails(false, true, "no memory for the devices of its ranks");
}

TAP_TEST(moved_take__hosts_and_numbers)
{
	begin();
	takes(order_of_now(HOSTS), pids_of_now(), NULL);
	is_str(t.hosts[0].name, "n8");
	is_str(t.hosts[1].name, "n9");
	is_str(t.hosts[1].address, "10.9.0.9:1");
	/* Its own are kept. */
	is_int(t.order.key, 5);
	is_int(t.order.incarnation, 0);
	is_int(t.hosts[0].cores[0], 6);
	is_int(t.incarnation, 3);
	is_str(t.devices, "as before");
	is_str(t.step.host, "n8");
	is_int(t.ranks[0].host_pid, 1001);
	/* That of then is somebody else's now. */
	is_int(t.ranks[1].host_pid, 0);
	finish();
}

/* Of both ranks, one is there. */
TAP_TEST(moved_take__ranks_are_bound_again)
{
	begin();
	t.ranks[0].slot = 5;
	takes(order_of_now(HOSTS), pids_of_now(), NULL);
	is_int(t.n_bound, 1);
	is_int(t.bound, getpid());
	is_int(t.mask, 1 << 5);
	finish();
	begin();
	t.has_no_memory = true;
	takes(order_of_now(HOSTS), pids_of_now(), NULL);
	is_int(t.n_bound, 0);
	is_int(t.ranks[0].host_pid, 1001);
	finish();
	begin();
	/* It has ended, and we have not heard of it yet. */
	t.ranks[0].pid = INT32_MAX;
	takes(order_of_now(HOSTS), pids_of_now(), NULL);
	is_int(t.n_bound, 0);
	finish();
}

TAP_TEST(moved_take__no_numbers)
{
	json_t *const all[] = {NULL, json_array(), json_pack("[[], 3, [i]]", (int)getpid()),
			       json_pack("{}"), json_pack("[[s, s]]", "1", "2")};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin();
		takes(order_of_now(HOSTS), all[i], NULL);
		is_int(t.ranks[0].host_pid, 0);
		finish();
	}
}

static void is_refused(json_t *order, const char *want)
{
	begin();
	takes(order ? order : order_of_now(1), pids_of_now(), want);
	is_str(t.hosts[0].name, "h0");
	is_str(t.hosts[1].address, "10.0.0.1:1");
	is_int(t.ranks[0].host_pid, 11);
	is_int(t.n_bound, 0);
	finish();
}

TAP_TEST(moved_take__order_of_another_job)
{
	is_refused(NULL, "the order has another number of hosts than the image");
	is_refused(json_object(), "scnoded's order makes no sense");
	is_refused(json_integer(7), "scnoded's order makes no sense");
}
