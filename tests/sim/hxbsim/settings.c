// SPDX-License-Identifier: BSD-3-Clause
/* settings - options of hxbsim. */
#include "tests/sim/hxbsim/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/include/pm.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/options.h"

#define SPEC(...) OPTION_SPEC(struct settings, __VA_ARGS__)

static const char *const pattern_names[] =
	{[ALL_TO_ALL] = "all-to-all", [NEIGHBOUR] = "neighbour", [INCAST] = "incast", NULL};
static const char *const by_names[] = {"messages", "reads", NULL};

static const struct option_spec specs[] = {
	SPEC("dims", OPTION_TEXT, dims_text, "AxBx..", "points of each dimension (16x16x10)"),
	SPEC("lanes", OPTION_COUNT, lanes, "N", "NICs per dimension (2)", .min = 1,
	     .max = ETH_RAILS),
	SPEC("rate", OPTION_TEXT, rate_text, "RATE", "of a switch port: 1gbit, 20mbit (1gbit)"),
	SPEC("nic-rate", OPTION_TEXT, nic_rate_text, "RATE",
	     "of a NIC, 0 = endless, as namespaces have it (that of the port)"),
	SPEC("mtu", OPTION_COUNT, mtu, "BYTES", "(9000)", .min = 576, .max = 9000),
	SPEC("buffer", OPTION_BYTES, buffer, "BYTES", "before each port (128K)", .min = 1024,
	     .max = 1u << 30),
	SPEC("latency", OPTION_COUNT, latency_ns, "NS", "of a link with its switch (20000)",
	     .min = 2, .max = 1000000000),
	SPEC("relay", OPTION_COUNT, relay_ns, "NS", "a host needs per frame it passes on (500)",
	     .max = 1000000000),
	SPEC("react", OPTION_COUNT, react_ns, "NS",
	     "at most until a process looks at what has come (2000)", .max = 1000000000),
	SPEC("overhead", OPTION_COUNT, overhead, "BYTES",
	     "of a frame on the wire beside its packet (56: head, check, gap)", .max = 200),
	SPEC("socket", OPTION_BYTES, socket, "BYTES",
	     "a host may have before the first switch (no limit; labs: 416K a rail)",
	     .min = 16 << 10, .max = 1u << 30),
	SPEC("pattern", OPTION_TEXT, pattern_text, "NAME",
	     "all-to-all, neighbour or incast (all-to-all)"),
	SPEC("by", OPTION_TEXT, by_text, "HOW", "messages or reads (messages)"),
	SPEC("bytes", OPTION_BYTES, bytes, "BYTES", "of each message or read (64K)", .min = 8,
	     .max = 1u << 30),
	SPEC("messages", OPTION_COUNT, messages, "N", "to each partner in each round (1)", .min = 1,
	     .max = 1000000),
	SPEC("rounds", OPTION_COUNT, rounds, "N",
	     "partners one after the other, or repetitions (what takes a minute at most)", .min = 1,
	     .max = 65535),
	SPEC("depth", OPTION_COUNT, depth, "N",
	     "of all-to-all: rounds that a host may be in at once (1)", .min = 1, .max = 65535),
	SPEC("senders", OPTION_COUNT, senders, "N", "of incast (all)", .min = 1, .max = 65535),
	SPEC("window", OPTION_COUNT, window, "PACKETS", "channel.window (512)", .min = 8,
	     .max = 4096),
	SPEC("credit", OPTION_COUNT, credit, "PACKETS", "channel.credit (by the number of hosts)",
	     .min = 1, .max = 4096),
	SPEC("pull-bytes", OPTION_BYTES, pull_bytes, "BYTES", "channel.pull_bytes (1M)",
	     .min = 64 << 10, .max = 1u << 30),
	SPEC("seed", OPTION_COUNT, seed, "N", "of all choices (1)", .max = UINT64_MAX - 1),
	SPEC("limit", OPTION_SECONDS, limit, "S", "virtual time after which to give up (100)"),
	SPEC("json", OPTION_FLAG, json, NULL, "one JSON object instead of a table"),
	{.name = NULL},
};

static void print_help(void)
{
	puts("usage: hxbsim [OPTION...]\n"
	     "The channel and the routing of a hypercrossbar of many hosts in virtual time: what "
	     "is\n"
	     "lost in the switches, what each host gets, and what it costs. Every byte of "
	     "messages\n"
	     "is checked. Equal options give equal runs.\n");
	options_help(specs);
	puts("\nExit status: 0 ok, 1 wrong arguments, 2 wrong data, 3 not done in time.");
}

static int usage(const char *option, const char *value, const char *instead)
{
	message_error("--%s=%s: write %s", option, value, instead);
	return -EINVAL;
}

static int read_dims(struct settings *settings)
{
	struct hxbnet_config *net = &settings->net;
	const char *at = settings->dims_text;
	uint64_t hosts = 1;
	char *end = NULL;

	for (; net->n_dims < ETH_DIMS; at = end + 1) {
		unsigned long points = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;

		if (points < 1 || points > ETH_LINE_MAX)
			return -EINVAL;
		net->dims[net->n_dims++] = (uint32_t)points;
		hosts *= points;
		if (*end != 'x')
			break;
	}
	return *end || hosts < 2 || hosts > ETH_POINTS_MAX ? -EINVAL : 0;
}

/* Bytes per second. */
static int read_rate(const char *text, uint64_t *ret_rate)
{
	static const struct {
		const char *unit;
		double bits;
	} units[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
	char *end;
	double value = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
	size_t i;

	if (value < 0)
		return -EINVAL;
	if (value == 0 && !*end) {
		*ret_rate = 0;
		return 0;
	}
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0 && value * units[i].bits >= 1e5 &&
		    value * units[i].bits <= 1e12) {
			*ret_rate = (uint64_t)(value * units[i].bits / 8);
			return 0;
		}
	return -EINVAL;
}

static int find(const char *const *names, const char *name)
{
	int i;

	for (i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -EINVAL;
}

static int understand(struct settings *settings)
{
	struct hxbnet_config *net = &settings->net;
	int pattern = find(pattern_names, settings->pattern_text);
	int by = find(by_names, settings->by_text);

	*net = hxbnet_defaults();
	if (pattern < 0)
		return usage("pattern", settings->pattern_text, "all-to-all, neighbour or incast");
	if (by < 0)
		return usage("by", settings->by_text, "messages or reads");
	if (read_dims(settings))
		return usage("dims", settings->dims_text, "up to six numbers, as in 16x16x10");
	if (read_rate(settings->rate_text, &net->rate) || !net->rate)
		return usage("rate", settings->rate_text, "100kbit to 1000gbit");
	if (read_rate(settings->nic_rate_text ? settings->nic_rate_text : settings->rate_text,
		      &net->nic_rate))
		return usage("nic-rate", settings->nic_rate_text, "0, or 100kbit to 1000gbit");
	if (settings->lanes * net->n_dims > ETH_RAILS) {
		message_error("--lanes=%u: a host has at most %d rails, and %u dimensions",
			      (unsigned int)settings->lanes, ETH_RAILS, net->n_dims);
		return -EINVAL;
	}
	if (settings->window & (settings->window - 1))
		return usage("window", "...", "a power of two, 8 to 4096");
	if (settings->depth > 1 && pattern != ALL_TO_ALL) {
		message_error("--depth: rounds of %s are between the same hosts and can't overlap; "
			      "leave it out",
			      settings->pattern_text);
		return -EINVAL;
	}
	settings->pattern = (enum pattern)pattern;
	settings->is_read = by == 1;
	net->lanes = (uint32_t)settings->lanes;
	net->mtu = (uint32_t)settings->mtu - ETH_MTU_OVERHEAD;
	net->queue_bytes = (uint32_t)settings->buffer;
	net->latency_ns = settings->latency_ns;
	net->relay_ns = settings->relay_ns;
	net->overhead_bytes = (uint32_t)settings->overhead;
	net->socket_bytes = (uint32_t)settings->socket;
	net->seed = settings->seed;
	return 0;
}

const char *settings_pattern_name(const struct settings *settings)
{
	return pattern_names[settings->pattern];
}

int settings_read(int argc, char **argv, struct settings *ret_settings)
{
	struct settings settings = {
		.dims_text = "16x16x10",
		.rate_text = "1gbit",
		.pattern_text = "all-to-all",
		.by_text = "messages",
		.lanes = 2,
		.mtu = 9000,
		.buffer = 128 << 10,
		.latency_ns = 20000,
		.relay_ns = 500,
		.react_ns = 2000,
		.overhead = ETH_HEAD + 24,
		.bytes = 64 << 10,
		.messages = 1,
		.depth = 1,
		.window = 512,
		.pull_bytes = 1 << 20,
		.seed = 1,
		.limit = 100,
	};
	char why[OPTIONS_WHY];
	int n_words, rc;

	rc = options_parse(specs, &settings, argc, argv, &n_words, why);
	if (rc == -ECANCELED) {
		if (strcmp(why, "help") == 0)
			print_help();
		else
			puts("hxbsim " PM_VERSION);
		return rc;
	}
	if (rc || n_words) {
		message_error("%s", rc ? why : "there is nothing but options: --help lists them");
		return -EINVAL;
	}
	rc = understand(&settings);
	if (rc)
		return rc;
	*ret_settings = settings;
	return 0;
}
