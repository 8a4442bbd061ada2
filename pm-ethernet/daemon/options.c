// SPDX-License-Identifier: BSD-3-Clause
/* Each option has one line in the table of getopt and one in the switch. */
#include "pm-ethernet/daemon/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-ethernet/daemon/cluster.h"
#include "pm-ethernet/daemon/watch.h"
#include "pmcore/util/arguments.h"

#define RUN_DIRECTORY "/run/pm-ethernet"
#define USER_MIB_MAX (1ul << 20)

static const struct option table[] = {
	{"nics", required_argument, NULL, 'n'},
	{"run", required_argument, NULL, 'r'},
	{"host-id", required_argument, NULL, 'i'},
	{"ethertype", required_argument, NULL, 't'},
	{"mode", required_argument, NULL, 'm'},
	{"direct", required_argument, NULL, 'd'},
	{"config", required_argument, NULL, 'c'},
	{"watch", required_argument, NULL, 'w'},
	{"user-memory", required_argument, NULL, 'u'},
	{"foreground", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: pm-ethernetd --nics NAME,... | --config CLUSTER.JSON\n"
	"                    [--run DIR] [--host-id N] [--ethertype N]\n"
	"                    [--mode auto|native|generic|tc] [--direct any|root|never]\n"
	"                    [--watch TIME] [--user-memory MIB]\n"
	"Serves pm-ethernet on this host, see pm-ethernetd(8).\n";

static int set_nics(struct ethd_options *o, const char *text, char *why, size_t size)
{
	o->n_nics = 0;
	while (*text) {
		size_t n = strcspn(text, ",");

		if (o->n_nics == ETH_RAILS || n == 0 || n >= ETH_NAME) {
			snprintf(why, size,
				 "--nics %s: wanted are 1 to %d interface names with commas", text,
				 ETH_RAILS);
			return -EINVAL;
		}
		memcpy(o->nics[o->n_nics], text, n);
		o->nics[o->n_nics][n] = 0;
		for (uint32_t i = 0; i < o->n_nics; i++)
			if (!strcmp(o->nics[i], o->nics[o->n_nics])) {
				snprintf(why, size, "--nics: %s is there twice", o->nics[i]);
				return -EINVAL;
			}
		o->n_nics++;
		text += n + (text[n] == ',');
	}
	return 0;
}

/* 1 .. @high */
static int set_number(const char *name, const char *text, unsigned long high, unsigned long *ret,
		      char *why, size_t size)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || n < 1 || n > high) {
		snprintf(why, size, "--%s %s: wanted is a number from 1 to %lu", name, text, high);
		return -EINVAL;
	}
	*ret = n;
	return 0;
}

/* The place of @text among @words, which end with NULL. */
static int set_word(const char *name, const char *text, const char *const *words, char *why,
		    size_t size)
{
	size_t used;
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	used = (size_t)snprintf(why, size, "--%s %s: wanted is %s", name, text, words[0]);
	for (i = 1; words[i] && used < size; i++)
		used += (size_t)snprintf(why + used, size - used, "%s%s",
					 words[i + 1] ? ", " : " or ", words[i]);
	return -EINVAL;
}

static int set_run(struct ethd_options *o, const char *text, char *why, size_t size)
{
	size_t n = strlen(text);

	while (n > 1 && text[n - 1] == '/')
		n--;
	/* the path of the socket must fit its address */
	if (text[0] != '/' || n + sizeof("/socket") > sizeof(o->run)) {
		snprintf(why, size,
			 "--run %s: wanted is an absolute path of at most %zu characters", text,
			 sizeof(o->run) - sizeof("/socket"));
		return -EINVAL;
	}
	memcpy(o->run, text, n);
	o->run[n] = 0;
	return 0;
}

/* "25ms", "1s", "0" */
static int set_watch(struct ethd_options *o, const char *text, char *why, size_t size)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	bool is_s = !strcmp(end, "s"), is_ms = !strcmp(end, "ms") || (!n && !*end);

	if (end != text && *text != '-' && (is_s || is_ms) && n <= (is_s ? 1 : 1000)) {
		o->watch_ns = (uint32_t)n * (is_s ? 1000000000u : 1000000u);
		return 0;
	}
	snprintf(why, size, "--watch %s: wanted is a time from 1ms to 1s, or 0 to watch nobody",
		 text);
	return -EINVAL;
}

/* By enum ethd_mode. */
static const char *const modes[] = {"auto", "native", "generic", "tc", NULL};

const char *ethd_mode_name(enum ethd_mode mode)
{
	return modes[mode];
}

static int set(struct ethd_options *o, int option, const char *text, char *why, size_t size);

/* As if what the file says stood in its place on the command line. */
static int set_config(struct ethd_options *o, const char *path, char *why, size_t size)
{
	struct ethd_cluster c = {.points = NULL};
	char host[256] = "";
	int err;

	gethostname(host, sizeof(host) - 1);
	err = ethd_cluster_read(path, host, &c, why, size);
	if (!err)
		err = set_nics(o, c.nics, why, size);
	if (!err && c.type[0])
		err = set(o, 't', c.type, why, size);
	if (!err && c.mode[0])
		err = set(o, 'm', c.mode, why, size);
	if (!err && c.direct[0])
		err = set(o, 'd', c.direct, why, size);
	if (!err && c.watch[0])
		err = set(o, 'w', c.watch, why, size);
	if (!err) {
		free(o->points);
		ethd_names_free(&o->names);
		o->grid = c.grid;
		o->points = c.points;
		o->names = c.names;
		o->grid_host_id = c.host_id;
	} else {
		free(c.points);
		ethd_names_free(&c.names);
	}
	return err;
}

static int set(struct ethd_options *o, int option, const char *text, char *why, size_t size)
{
	static const char *const directs[] = {"any", "root", "never", NULL};
	unsigned long n = 0;
	int err;

	switch (option) {
	case 'n':
		return set_nics(o, text, why, size);
	case 'r':
		return set_run(o, text, why, size);
	case 'i':
		err = set_number("host-id", text, 0xfffffffe, &n, why, size);
		o->host_id = (uint32_t)n;
		o->has_host_id = true;
		return err;
	case 't':
		err = set_number("ethertype", text, 0xffff, &n, why, size);
		o->type = (uint16_t)n;
		if (!err && n >= 0x600)
			return 0;
		snprintf(why, size, "--ethertype %s: wanted is a number from 0x600 to 0xffff",
			 text);
		return -EINVAL;
	case 'm':
		err = set_word("mode", text, modes, why, size);
		o->mode = (enum ethd_mode)err;
		return err < 0 ? err : 0;
	case 'd':
		err = set_word("direct", text, directs, why, size);
		o->direct = (enum ethd_direct)err;
		return err < 0 ? err : 0;
	case 'w':
		return set_watch(o, text, why, size);
	case 'u':
		err = set_number("user-memory", text, USER_MIB_MAX, &n, why, size);
		o->user_bytes = (uint64_t)n << 20;
		return err;
	case 'c':
		return set_config(o, text, why, size);
	default:
		return 0;
	}
}

/* The grid's entry for this host holds: the command line may rename NICs, not move the host. */
static int settle_grid(struct ethd_options *o, char *why, size_t size)
{
	uint32_t n_rails = 0;

	if (!o->grid.n_dims)
		return 0;
	for (uint32_t d = 0; d < o->grid.n_dims; d++)
		n_rails += o->grid.n_lanes[d];
	if (o->n_nics != n_rails) {
		snprintf(why, size,
			 "--nics names %u NICs, but this host has %u rails in the topology of "
			 "--config; name as many, in the order of the rails",
			 o->n_nics, n_rails);
		return -EINVAL;
	}
	if (o->has_host_id && o->host_id != o->grid_host_id) {
		snprintf(why, size,
			 "--host-id %u: in the topology of --config this host is %u; leave the "
			 "option "
			 "out",
			 o->host_id, o->grid_host_id);
		return -EINVAL;
	}
	o->host_id = o->grid_host_id;
	o->has_host_id = true;
	return 0;
}

int ethd_options_parse(int argc, char **argv, struct ethd_options *ret, char *why, size_t why_size)
{
	struct ethd_options o = {
		.type = ETH_TYPE_DEFAULT, .run = RUN_DIRECTORY, .watch_ns = ETHD_WATCH_NS};
	const struct arguments arguments = {argc, argv, table, "hV", "pm-ethernetd"};
	int option, err;

	arguments_begin();
	while ((option = arguments_next(&arguments, why, why_size))) {
		if (option == 'h' || option == 'V') {
			fputs(option == 'h' ? usage : "pm-ethernetd " PM_VERSION "\n", stdout);
			return ETHD_OPTIONS_HELP;
		}
		err = option < 0 ? option : set(&o, option, optarg, why, why_size);
		if (err)
			goto drop;
	}
	err = -EINVAL;
	if (!o.n_nics) {
		snprintf(why, why_size, "--nics or --config is missing; see pm-ethernetd --help");
		goto drop;
	}
	err = settle_grid(&o, why, why_size);
	if (err)
		goto drop;
	*ret = o;
	return 0;
drop:
	free(o.points);
	ethd_names_free(&o.names);
	return err;
}
