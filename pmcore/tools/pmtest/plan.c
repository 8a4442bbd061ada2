// SPDX-License-Identifier: BSD-3-Clause
/* plan - options of pmtest, their defaults and their contradictions. */
#include "pmcore/tools/pmtest/plan.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"

#define DEFAULT_SECONDS 0.2
#define RATE_SIZE_MAX 1024

#define SPEC(...) OPTION_SPEC(struct plan, __VA_ARGS__)

static const struct option_spec specs[] = {
	SPEC("test", OPTION_TEXT, test, "LIST",
	     "latency, bandwidth, bidirectional, rate, read, write, atomic, all (default)"),
	SPEC("size", OPTION_SIZES, sizes, "LIST",
	     "bytes: 8 or 0,8,64K or 1:4M (doubling); at most 4M", .max = PLAN_SIZE_MAX),
	SPEC("iterations", OPTION_COUNT, iterations, "N", "messages of each measurement", .min = 1,
	     .max = 1000000000000),
	SPEC("seconds", OPTION_SECONDS, seconds, "S", "time of each measurement (default 0.2)"),
	SPEC("warmup", OPTION_COUNT, warmup, "N",
	     "messages before it (default: until it is steady)", .max = 1000000000),
	SPEC("depth", OPTION_COUNT, depth, "N",
	     "reads or writes under way at once (default 16, less for large ones)", .min = 1,
	     .max = PLAN_DEPTH_MAX),
	SPEC("wait", OPTION_TEXT, wait, "HOW",
	     "poll, or sleep at once (default: poll a while, then sleep)"),
	SPEC("limit", OPTION_SECONDS, limit, "S", "longest silence of the other node (default 10)"),
	SPEC("no-check", OPTION_FLAG, no_check, NULL,
	     "leave out the pass that verifies every byte"),
	SPEC("histogram", OPTION_FLAG, histogram, NULL, "show how the latencies are spread"),
	SPEC("json", OPTION_FLAG, json, NULL, "one JSON object per test and size"),
	SPEC("self", OPTION_FLAG, alone, NULL, "one node that sends to itself"),
	SPEC("listen", OPTION_MAYBE, listen, "PORT",
	     "wait for \"pmtest HOST\" (default port 17333)"),
	SPEC("once", OPTION_FLAG, once, NULL, "with --listen: end after one client"),
	{.name = NULL},
};

static const char *const names[TESTS] = {
	[TEST_LATENCY] = "latency",
	[TEST_BANDWIDTH] = "bandwidth",
	[TEST_BIDIRECTIONAL] = "bidirectional",
	[TEST_RATE] = "rate",
	[TEST_READ] = "read",
	[TEST_WRITE] = "write",
	[TEST_ATOMIC] = "atomic",
};

const char *plan_test_name(enum test test)
{
	return names[test];
}

bool plan_is_one_sided(enum test test)
{
	return test == TEST_READ || test == TEST_WRITE || test == TEST_ATOMIC;
}

bool plan_has(const struct plan *plan, enum test test, uint64_t size)
{
	return plan->tests[test] && (test != TEST_ATOMIC || size == PLAN_ATOMIC_SIZE) &&
	       !(plan->is_default_sizes && test == TEST_RATE && size > RATE_SIZE_MAX);
}

static int usage(const char *why)
{
	message_error("%s", why);
	return -EINVAL;
}

static int choose_test(struct plan *plan, const char *word)
{
	char why[OPTIONS_WHY];
	bool is_all = strcmp(word, "all") == 0, is_known = is_all;

	for (int i = 0; i < TESTS; i++) {
		if (is_all || strcmp(word, names[i]) == 0) {
			plan->tests[i] = true;
			is_known = true;
		}
	}
	if (is_known)
		return 0;
	snprintf(why, sizeof(why),
		 "--test %s: there are latency, bandwidth, bidirectional, rate, read, "
		 "write, atomic and all",
		 word);
	return usage(why);
}

static int choose_tests(struct plan *plan)
{
	char copy[128], *rest = copy, *word;
	int rc = 0;

	if (strlen(plan->test) >= sizeof(copy))
		return usage("--test: list is too long");
	strcpy(copy, plan->test);
	while (!rc && (word = strsep(&rest, ",")))
		rc = choose_test(plan, word);
	return rc;
}

/* The word beside the options: a host, or after --listen a port. */
static int take_word(struct plan *plan, const char *word)
{
	if (plan->listen && !*plan->listen)
		plan->listen = word;
	else if (!plan->listen && !plan->host)
		plan->host = word;
	else
		return usage("only one HOST or one --listen PORT");
	return 0;
}

static int check_start(struct plan *plan)
{
	uint64_t port = BOOT_PORT;

	if ((plan->host != NULL) + (plan->listen != NULL) + plan->alone > 1)
		return usage("HOST, --listen and --self exclude each other");
	if (plan->listen && *plan->listen &&
	    (options_read_count(plan->listen, 1000, &port) || port < 1 || port > 65535))
		return usage("--listen: the port is a number from 1 to 65535");
	if (plan->once && !plan->listen)
		return usage("--once goes with --listen");
	plan->port = (uint16_t)port;
	return 0;
}

static int check_measure(struct plan *plan)
{
	static const struct option_sizes table = {
		{0, 8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304}, 11};

	if (plan->iterations && plan->seconds > 0)
		return usage("--iterations and --seconds exclude each other");
	if (!plan->iterations && !(plan->seconds > 0))
		plan->seconds = DEFAULT_SECONDS;
	if (!plan->sizes.count) {
		plan->sizes = table;
		plan->is_default_sizes = true;
	}
	for (int test = 0; test < TESTS; test++)
		for (size_t i = 0; i < plan->sizes.count; i++)
			if (plan_has(plan, (enum test)test, plan->sizes.size[i]))
				return 0;
	return usage("--size: there is nothing to do: --test atomic is of 8 bytes");
}

static int choose_wait(struct plan *plan)
{
	if (!plan->wait)
		return 0;
	if (strcmp(plan->wait, "poll") != 0 && strcmp(plan->wait, "sleep") != 0)
		return usage("--wait: there are poll and sleep");
	plan->how = plan->wait[0] == 'p' ? WAIT_POLLING : WAIT_SLEEPING;
	return 0;
}

static void print_help(void)
{
	puts("usage: mpirun -np 2 pmtest [OPTION...]     under any PMIx launcher\n"
	     "       pmtest --listen [PORT]              on one host, and then on the other\n"
	     "       pmtest [OPTION...] HOST[:PORT]\n"
	     "Measures PM between two nodes: latency, bandwidth, message rate, pmRead, pmWrite "
	     "and\npmAtomic.\n");
	options_help(specs);
	puts("\nExit status: 0 ok, 1 wrong arguments or no start, 2 wrong data, 3 node lost or "
	     "silent,\n"
	     "130 interrupted. PM_OPTIONS chooses devices and rails: pm_options(5).");
}

int plan_read(int argc, char **argv, struct plan *ret_plan)
{
	struct plan plan = {.test = "all", .warmup = UINT64_MAX, .limit = 10};
	char why[OPTIONS_WHY];
	int n_words, rc;

	rc = options_parse(specs, &plan, argc, argv, &n_words, why);
	if (rc == -ECANCELED) {
		if (strcmp(why, "help") == 0)
			print_help();
		else
			puts("pmtest " PM_VERSION);
		return rc;
	}
	if (rc)
		return usage(why);
	for (int i = 1; i <= n_words && !rc; i++)
		rc = take_word(&plan, argv[i]);
	if (!rc)
		rc = choose_tests(&plan);
	if (!rc)
		rc = check_start(&plan);
	if (!rc)
		rc = check_measure(&plan);
	if (!rc)
		rc = choose_wait(&plan);
	if (!rc)
		*ret_plan = plan;
	return rc;
}
