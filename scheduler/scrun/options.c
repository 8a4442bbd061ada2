// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/host.h"
#include "scheduler/proto/order.h"
#include "scheduler/scrun/values.h"

#define ITEM_MAX 4096 /* characters of one item of SCore's form */

const char options_usage[] =
	"usage: scrun [OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n"
	"       scrun -nodes=HOSTSxRANKS,network=NAME,... PROGRAM [ARGUMENT...]\n"
	"Starts an MPI job on the cluster, see scrun(1).\n"
	"Where:\n"
	"  --nodes H[xP]         hosts, and ranks on each   --per-node P   ranks on each host\n"
	"  -n, -np, --ranks N    ranks in all               --cores N      cores of each rank\n"
	"  --group NAME          group of the cluster       --hosts EXPR   as n[00-07]~n3\n"
	"  --network NAME        network or PM devices      --bind core|host|none\n"
	"  --class shared|exclusive                         --oversubscribe\n"
	"  --map cart=8x8x4|any  neighbours in the network  --report-bindings\n"
	"  --memory SIZE         of each rank, as 512M, 2G  --dry-run [--json]  only asks where\n"
	"When:\n"
	"  --priority N          -1000..1000                --timeout TIME 90, 15m, 2h\n"
	"What:\n"
	"  -x, --env NAME[=VALUE]  variable of the job      --no-env NAME  leaves one out\n"
	"  --env-file FILE       lines of NAME=VALUE\n"
	"  --cwd DIRECTORY                                  --name TEXT    for scqueue\n"
	"  --collectives tuned|default  algorithms of MPI's collective operations\n"
	"  --checkpoint[=TIME]   can be written to disk while it runs, and is each TIME, as 30m\n"
	"  --restart auto        when a host is lost, by itself from the last checkpoint\n"
	"  --restart JOB[@N]     from its last checkpoint, or from number N; without a program,\n"
	"                        with --hosts and --network also elsewhere\n"
	"Input and output:\n"
	"  --stdin RANK|all|none|FILE                       --pty[=RANK]   a terminal for a rank\n"
	"  --label               [rank host] before lines   --merge        equal lines once\n"
	"  --output PATTERN      files; %r rank, %h host, %j job, %s out or err\n"
	"  --statistics          at the end                 -q, --quiet    no progress\n"
	"Others:\n"
	"  --server HOST[:PORT]  of scored                  --munge-socket PATH\n"
	"  -h, --help                                       -V, --version\n";

enum kind {
	FLAG,     /* bool at offset becomes min */
	TEXT,     /* const char * at offset */
	WORDS,    /* one more of the struct words at offset */
	NUMBER32, /* uint32_t at offset */
	NUMBER64, /* int64_t at offset */
	MAYBE64,  /* the same, 0 without a value */
	SPECIAL,  /* read() knows */
	MAYBE,    /* the same, of NULL without a value */
};

struct entry {
	const char *name;
	enum kind kind;
	bool is_of_app; /* each program may have its own; offset is in struct options_app */
	size_t offset;
	int64_t min, max;
	int (*read)(struct options *options, const char *text);
	const char *wanted; /* what the value should be */
	/* also with one hyphen its value may be the next argument: -map cart=8x8x4 */
	bool is_apart;
};

/* ---- values that need more than a number ---- */

static int read_nodes(struct options *o, const char *text)
{
	uint32_t each = 0;

	if (value_shape(&o->nodes, &each, text))
		return -EINVAL;
	if (each)
		o->per_node = each;
	return 0;
}

static int read_map(struct options *o, const char *text)
{
	static const char cart[] = "cart=";

	if (!strncmp(text, cart, strlen(cart)))
		return value_grid(o->cart, &o->n_cart, JOB_CART_DIMS, text + strlen(cart));
	o->may_scatter = !strcmp(text, "any");
	return o->may_scatter ? 0 : -EINVAL;
}

static int read_class(struct options *o, const char *text)
{
	static const char *const names[] = {"shared", "exclusive", NULL};
	int which;

	if (value_choice(&which, text, names))
		return -EINVAL;
	o->class = (enum job_class)which;
	return 0;
}

static int read_bind(struct options *o, const char *text)
{
	static const char *const names[] = {"core", "host", "none", NULL};
	int which;

	if (value_choice(&which, text, names))
		return -EINVAL;
	o->bind = (enum job_bind)which;
	return 0;
}

static int read_collectives(struct options *o, const char *text)
{
	static const char *const names[] = {"tuned", "default", NULL};
	int which;

	if (value_choice(&which, text, names))
		return -EINVAL;
	o->has_default_collectives = which;
	return 0;
}

static int read_priority(struct options *o, const char *text)
{
	int64_t n;

	if (value_number(&n, text, -JOB_PRIORITY_MAX, JOB_PRIORITY_MAX))
		return -EINVAL;
	o->priority = (int32_t)n;
	return 0;
}

static int read_memory(struct options *o, const char *text)
{
	return value_size(&o->memory, text, JOB_MEMORY_MIN, JOB_MEMORY_MAX);
}

static int read_timeout(struct options *o, const char *text)
{
	return value_time(&o->timeout_s, text);
}

static int read_stdin(struct options *o, const char *text)
{
	int64_t rank = 0;
	const char *file = NULL;

	if (!strcmp(text, "all"))
		rank = JOB_STDIN_ALL;
	else if (!strcmp(text, "none"))
		rank = JOB_STDIN_NONE;
	else if (strspn(text, "0123456789") != strlen(text))
		file = text;
	else if (value_number(&rank, text, 0, JOB_RANKS_MAX - 1))
		return -EINVAL;
	if (!*text)
		return -EINVAL;
	o->stdin_rank = rank;
	o->stdin_file = file;
	return 0;
}

static int read_checkpoint(struct options *o, const char *text)
{
	o->wants_checkpoint = true;
	return text ? value_time(&o->checkpoint_s, text) : 0;
}

static int read_restart(struct options *o, const char *text)
{
	int64_t id = 0, round = 0;
	const char *at = strchr(text, '@');
	char word[32];

	if (!strcmp(text, "auto")) {
		o->restarts = o->wants_checkpoint = true;
		return 0;
	}
	if (snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "@"), text) >=
		    (int)sizeof(word) ||
	    value_number(&id, word, 1, INT64_MAX) ||
	    (at && value_number(&round, at + 1, 1, INT64_MAX)))
		return -EINVAL;
	o->restart_id = (uint64_t)id;
	o->restart_round = (uint64_t)round;
	return 0;
}

/* ---- the table ---- */

#define OF(field) offsetof(struct options, field)
#define OF_APP(field) offsetof(struct options_app, field)
#define A_COUNT "a number from 1 to 1000000"

static const struct entry table[] = {
	{"nodes", SPECIAL, .read = read_nodes, .wanted = "HOSTS or HOSTSxRANKS, as 4 or 4x2"},
	{"per-node", NUMBER32, .offset = OF(per_node), .min = 1, .max = ORDER_HOST_RANKS_MAX,
	 .wanted = "ranks on each host, 1 to 4096"},
	{"ranks", NUMBER32, true, OF_APP(ranks), 1, JOB_RANKS_MAX, .wanted = A_COUNT},
	{"n", NUMBER32, true, OF_APP(ranks), 1, JOB_RANKS_MAX, .wanted = A_COUNT},
	{"np", NUMBER32, true, OF_APP(ranks), 1, JOB_RANKS_MAX, .wanted = A_COUNT},
	{"group", TEXT, .offset = OF(group), .wanted = "a group of the cluster"},
	{"hosts", TEXT, .offset = OF(hosts), .wanted = "a list of hosts, as n[00-07],n9"},
	{"network", TEXT, .offset = OF(network),
	 .wanted = "a network of the cluster, or devices of PM"},
	{"map", SPECIAL, .read = read_map, .wanted = "\"any\" or cart=GRID, as cart=8x8x4",
	 .is_apart = true},
	{"class", SPECIAL, .read = read_class, .wanted = "\"shared\" or \"exclusive\""},
	{"bind", SPECIAL, .read = read_bind, .wanted = "\"core\", \"host\" or \"none\""},
	{"cores", NUMBER32, .offset = OF(cores), .min = 1, .max = HOST_CORES_MAX,
	 .wanted = "cores of each rank, 1 to 4096"},
	{"memory", SPECIAL, .read = read_memory,
	 .wanted = "memory of each rank, 1M to 1024T, as 512M or 1.5G"},
	{"priority", SPECIAL, .read = read_priority, .wanted = "a number from -1000 to 1000"},
	{"timeout", SPECIAL, .read = read_timeout,
	 .wanted = "a time above 0, as 90, 1.5s, 15m, 2h, 1d"},
	{"stdin", SPECIAL, .read = read_stdin, .wanted = "a rank, \"all\", \"none\" or a file"},
	{"label", FLAG, .offset = OF(is_labelled), .min = true},
	{"no-label", FLAG, .offset = OF(is_labelled), .min = false},
	{"output", TEXT, .offset = OF(output), .wanted = "a file name, with %r for the rank"},
	{"merge", FLAG, .offset = OF(is_merged), .min = true},
	{"oversubscribe", FLAG, .offset = OF(may_oversubscribe), .min = true},
	{"report-bindings", FLAG, .offset = OF(does_report_bindings), .min = true},
	{"dry-run", FLAG, .offset = OF(is_dry_run), .min = true},
	{"json", FLAG, .offset = OF(is_json), .min = true},
	{"env", WORDS, true, OF_APP(env), .wanted = "NAME or NAME=VALUE"},
	{"x", WORDS, true, OF_APP(env), .wanted = "NAME or NAME=VALUE"},
	{"env-file", WORDS, true, OF_APP(env_files), .wanted = "a file of lines NAME=VALUE"},
	{"no-env", WORDS, .offset = OF(no_env), .wanted = "a name, or a pattern as FOO_*"},
	{"cwd", TEXT, true, OF_APP(cwd), .wanted = "a directory"},
	{"name", TEXT, .offset = OF(name), .wanted = "a name for the job"},
	{"collectives", SPECIAL, .read = read_collectives, .wanted = "\"tuned\" or \"default\""},
	{"pty", MAYBE64, .offset = OF(pty_rank), .min = 0, .max = JOB_RANKS_MAX - 1,
	 .wanted = "a rank"},
	{"statistics", FLAG, .offset = OF(is_statistics), .min = true},
	{"restart", SPECIAL, .read = read_restart,
	 .wanted = "the number of a job, and maybe of a checkpoint, as 7 or 7@3; or \"auto\"",
	 .is_apart = true},
	{"checkpoint", MAYBE, .read = read_checkpoint,
	 .wanted = "a time above 0 between two checkpoints, as 90, 30m, 2h"},
	{"server", TEXT, .offset = OF(server), .wanted = "HOST or HOST:PORT"},
	{"munge-socket", TEXT, .offset = OF(munge_socket), .wanted = "the path of munged's socket"},
	{"quiet", FLAG, .offset = OF(is_quiet), .min = true},
	{"q", FLAG, .offset = OF(is_quiet), .min = true},
	{"help", FLAG, .offset = OF(wants_help), .min = true},
	{"h", FLAG, .offset = OF(wants_help), .min = true},
	{"version", FLAG, .offset = OF(wants_version), .min = true},
	{"V", FLAG, .offset = OF(wants_version), .min = true},
};

#define N_ENTRIES (sizeof(table) / sizeof(table[0]))

/* ---- reading ---- */

struct reader {
	struct options *options;
	char **argv;
	int at;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int wrong(const struct reader *r, int err,
						       const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, r->why_size, fmt, args);
	va_end(args);
	return err;
}

static int no_memory(const struct reader *r)
{
	return wrong(r, -ENOMEM, "no memory for the options");
}

static const struct entry *find(const char *name, size_t length)
{
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (strlen(table[i].name) == length && !strncmp(table[i].name, name, length))
			return &table[i];
	return NULL;
}

static bool is_short(const struct entry *entry)
{
	return strlen(entry->name) <= 2;
}

static int unknown(const struct reader *r, const char *hyphens, const char *name, size_t length)
{
	const char *names[N_ENTRIES], *nearest;
	char word[64];
	size_t n = 0;

	for (size_t i = 0; i < N_ENTRIES; i++)
		if (!is_short(&table[i]))
			names[n++] = table[i].name;
	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	nearest = value_nearest(word, names, n);
	if (nearest)
		return wrong(r, -EINVAL, "%s%s: there is no such option; did you mean %s%s?",
			     hyphens, word, hyphens, nearest);
	return wrong(r, -EINVAL, "%s%s: there is no such option; scrun --help lists them", hyphens,
		     word);
}

static int words_add(struct words *words, const char *word)
{
	const char **more = reallocarray(words->v, words->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	words->v = more;
	words->v[words->n++] = word;
	return 0;
}

static struct options_app *last_app(const struct reader *r)
{
	return &r->options->apps[r->options->n_apps - 1];
}

static int store_number(const struct entry *entry, void *field, const char *text)
{
	int64_t n = entry->min;

	if (text && value_number(&n, text, entry->min, entry->max))
		return -EINVAL;
	if (entry->kind == NUMBER32)
		*(uint32_t *)field = (uint32_t)n;
	else
		*(int64_t *)field = n;
	return 0;
}

static int store(const struct reader *r, const struct entry *entry, const char *text)
{
	void *field = (entry->is_of_app ? (char *)last_app(r) : (char *)r->options) + entry->offset;

	switch (entry->kind) {
	case FLAG:
		*(bool *)field = entry->min;
		return 0;
	case TEXT:
		*(const char **)field = text;
		return *text ? 0 : -EINVAL;
	case WORDS:
		return *text && *text != '=' ? words_add(field, text) : -EINVAL;
	case SPECIAL:
	case MAYBE:
		return entry->read(r->options, text);
	default:
		return store_number(entry, field, text);
	}
}

/* @value: NULL = none was joined to it by "=". @can_follow: the next argument may be it. */
static int take(struct reader *r, const char *hyphens, const struct entry *entry, const char *value,
		bool can_follow)
{
	bool wants = entry->kind != FLAG && entry->kind != MAYBE64 && entry->kind != MAYBE;
	int err;

	if (r->options->n_apps > 1 && !entry->is_of_app)
		return wrong(r, -EINVAL,
			     "%s%s: it is for the whole job; put it before the first program",
			     hyphens, entry->name);
	if (value && entry->kind == FLAG)
		return wrong(r, -EINVAL, "%s%s=%s: it takes no value", hyphens, entry->name, value);
	if (!value && wants && can_follow)
		value = r->argv[r->at] ? r->argv[r->at++] : NULL;
	if (!value && wants)
		return wrong(r, -EINVAL, "%s%s: its value is missing; wanted is %s", hyphens,
			     entry->name, entry->wanted);
	err = store(r, entry, value);
	if (err == -ENOMEM)
		return no_memory(r);
	return err ? wrong(r, err, "%s%s %s: wanted is %s", hyphens, entry->name, value,
			   entry->wanted)
		   : 0;
}

static int take_long(struct reader *r, char *word)
{
	size_t length = strcspn(word, "=");
	const struct entry *entry = find(word, length);

	if (!entry || is_short(entry))
		return unknown(r, "--", word, length);
	return take(r, "--", entry, word[length] ? word + length + 1 : NULL, true);
}

/* Up to the comma that ends an item; those in brackets do not. */
static size_t item_length(const char *text)
{
	size_t n = 0;
	int depth = 0;

	for (; text[n] && (text[n] != ',' || depth > 0); n++)
		depth += (text[n] == '[') - (text[n] == ']');
	return n;
}

/*
 * -nodes=4x2,network=udp,statistics. Each item ends in a zero where its comma was, so that values
 * can be kept.
 */
static int take_joined(struct reader *r, char *word)
{
	while (*word) {
		size_t n = item_length(word), length;
		bool is_last = !word[n];
		const struct entry *entry;
		int err;

		word[n] = 0;
		length = strcspn(word, "=");
		entry = find(word, length);
		if (!entry || is_short(entry))
			return unknown(r, "-", word, length);
		err = take(r, "-", entry, word[length] ? word + length + 1 : NULL, false);
		if (err)
			return err;
		word += is_last ? n : n + 1;
	}
	return 0;
}

static int take_one(struct reader *r)
{
	char *word = r->argv[r->at++];
	const struct entry *entry;

	if (word[1] == '-')
		return take_long(r, word + 2);
	entry = find(word + 1, strlen(word + 1));
	if (entry && (is_short(entry) || entry->is_apart))
		return take(r, "-", entry, NULL, true);
	return take_joined(r, word + 1);
}

static int begin_app(struct reader *r)
{
	struct options *o = r->options;
	struct options_app *more = reallocarray(o->apps, o->n_apps + 1, sizeof(*more));

	if (!more)
		return no_memory(r);
	o->apps = more;
	o->apps[o->n_apps++] = (struct options_app){0};
	return 0;
}

/* A job is restored with what it was started with. */
static int check_restart(const struct reader *r)
{
	const struct options *o = r->options;
	const struct options_app *app = &o->apps[0];

	if (o->n_apps > 1 || r->argv[r->at])
		return wrong(r, -EINVAL,
			     "--restart: the job has its program already; leave out \"%s\"",
			     r->argv[r->at] ? r->argv[r->at] : ":");
	if (o->nodes || o->per_node || app->ranks || o->n_cart || o->memory || o->timeout_s > 0 ||
	    o->priority || o->class || o->bind || o->cores > 1 || app->env.n || app->env_files.n ||
	    o->no_env.n || app->cwd || o->name || o->pty_rank >= 0 || o->wants_checkpoint ||
	    o->is_dry_run || o->may_oversubscribe)
		return wrong(
			r, -EINVAL,
			"--restart: the job keeps its ranks and environment; only options of its "
			"input and output go with it, and --hosts, --group, --network, --quiet, "
			"--server and --munge-socket");
	return 0;
}

/* Options, a program, its arguments, up to ":" or the end. */
static int read_app(struct reader *r)
{
	int err = begin_app(r);

	while (!err && r->argv[r->at] && r->argv[r->at][0] == '-' && r->argv[r->at][1]) {
		if (!strcmp(r->argv[r->at], "--")) {
			r->at++;
			break;
		}
		err = take_one(r);
		if (!err && (r->options->wants_help || r->options->wants_version))
			return 0;
	}
	if (err)
		return err;
	if (r->options->restart_id)
		return check_restart(r);
	if (!r->argv[r->at] || !strcmp(r->argv[r->at], ":") || !*r->argv[r->at])
		return wrong(r, -EINVAL,
			     r->options->n_apps > 1
				     ? "program %zu: it is missing; write one after the \":\""
				     : "program %zu: it is missing; write one after the options, "
				       "scrun --help tells how",
			     r->options->n_apps);
	last_app(r)->argv = r->argv + r->at;
	while (r->argv[r->at] && strcmp(r->argv[r->at], ":") != 0)
		r->at++;
	return 0;
}

/* ---- what does not go together ---- */

static int check_ranks(const struct reader *r)
{
	const struct options *o = r->options;
	uint64_t ranks = 0, room = (uint64_t)o->nodes * (o->per_node ? o->per_node : 0);
	bool are_said = o->n_apps > 1 || o->apps[0].ranks;

	for (size_t i = 0; i < o->n_apps; i++)
		ranks += o->apps[i].ranks ? o->apps[i].ranks : 1;
	if (room > JOB_RANKS_MAX || ranks > JOB_RANKS_MAX)
		return wrong(r, -EINVAL, "ranks: %llu are more than the %d that a job may have",
			     (unsigned long long)(ranks > room ? ranks : room), JOB_RANKS_MAX);
	if (o->per_node > ORDER_HOST_RANKS_MAX)
		return wrong(r, -EINVAL, "--nodes %ux%u: a host takes at most %d ranks", o->nodes,
			     o->per_node, ORDER_HOST_RANKS_MAX);
	if (are_said && room && ranks > room)
		return wrong(r, -EINVAL,
			     "-n %llu: %u hosts with %u ranks each hold %llu; ask for more hosts, "
			     "or fewer "
			     "ranks",
			     (unsigned long long)ranks, o->nodes, o->per_node,
			     (unsigned long long)room);
	if (are_said && ranks < o->nodes)
		return wrong(r, -EINVAL,
			     "--nodes %u: %llu ranks are too few for so many hosts; ask for no "
			     "more hosts "
			     "than ranks",
			     o->nodes, (unsigned long long)ranks);
	return 0;
}

static int check(const struct reader *r)
{
	const struct options *o = r->options;

	if (o->n_apps > JOB_APPS_MAX)
		return wrong(r, -EINVAL, "%zu programs: a job has at most %d", o->n_apps,
			     JOB_APPS_MAX);
	if (o->group && o->hosts)
		return wrong(r, -EINVAL, "--group and --hosts: both say where; leave one out");
	if (o->is_json && !o->is_dry_run)
		return wrong(r, -EINVAL, "--json: it is how --dry-run answers; leave it out");
	if (o->is_merged && o->output)
		return wrong(r, -EINVAL,
			     "--merge and --output: files are not merged; leave one out");
	if (o->pty_rank >= 0 && (o->is_labelled || o->is_merged || o->output))
		return wrong(
			r, -EINVAL,
			"--pty: what a terminal shows is no lines; leave out --label, --merge and "
			"--output");
	if (o->pty_rank >= 0 && o->restarts)
		return wrong(r, -EINVAL,
			     "--pty and --restart auto: a job with a terminal can't be written to "
			     "disk; leave one out");
	return check_ranks(r);
}

int options_read(struct options *ret, int argc, char **argv, char *why, size_t why_size)
{
	struct reader r = {
		.options = ret, .argv = argv, .at = argc > 0, .why = why, .why_size = why_size};
	int err;

	*ret = (struct options){.cores = 1, .pty_rank = -1};
	for (;;) {
		err = read_app(&r);
		if (err || ret->wants_help || ret->wants_version)
			return err;
		if (!argv[r.at])
			break;
		argv[r.at++] = NULL;
	}
	return check(&r);
}

void options_fini(struct options *options)
{
	for (size_t i = 0; i < options->n_apps; i++) {
		free(options->apps[i].env.v);
		free(options->apps[i].env_files.v);
	}
	free(options->apps);
	free(options->no_env.v);
	*options = (struct options){0};
}
