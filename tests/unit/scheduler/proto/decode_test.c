// SPDX-License-Identifier: BSD-3-Clause
/*
 * job, order, slots, host: golden round trips, and for every field values just inside and just
 * outside its bounds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "scheduler/proto/host.h"
#include "scheduler/proto/order.h"
#include "scheduler/proto/slots.h"
#include "tests/harness/tap.h"

static const char job_text[] =
	"{'name':'hello','nodes':2,'per_node':2,'ranks':4,'group':'h[0-3]','network':'ethernet',"
	"'class':'exclusive','bind':'host','cores':2,'memory':1048576,'priority':-5,'timeout':1.5,"
	"'oversubscribe':true,'scatter':true,'cart':[2,2],'report_bindings':true,"
	"'statistics':true,'debugged':true,'checkpoint':true,'checkpoint_s':1800.0,'restarts':true,"
	"'pty':true,'pty_rank':3,"
	"'stdin':-1,'umask':63,'cwd':'/home/u','env':['A=1','B='],'limits':[[7,10,-1],[4,-1,-1]],"
	"'apps':[{'argv':['./a','','x'],'env':['C=3'],'cwd':'/tmp','ranks':1},"
	"{'argv':['./b',{'hex':'ff'}],'env':[],'ranks':3}]}";
static const char order_text[] =
	"{'id':7,'key':'fedcba9876543210','incarnation':1,'uid':1000,'gid':100,'cluster':'lab',"
	"'n_dims':0,'here':1,"
	"'hosts':[{'name':'h0','address':'10.0.0.1:7711','first':0,'ranks':1,'cores':[3,0]},"
	"{'name':'h1','address':'[fd00::1]:7711','first':1,'ranks':1,'cores':[4095]}],"
	"'job':{'name':'b','ranks':2,'cwd':'/','nodes':0,'per_node':0,'class':'shared',"
	"'bind':'core','cores':1,'oversubscribe':false,'scatter':false,'report_bindings':false,"
	"'priority':0,'timeout':0.0,'statistics':false,'debugged':false,'pty':false,"
	"'pty_rank':0,'stdin':0,'umask':18,'env':[],'limits':[],"
	"'apps':[{'argv':['b'],'env':[],'ranks':2}]}}";
static const char slots_text[] =
	"{'number':3,'begins_ns':1000000000,'quantum_ns':200000000,"
	"'rows':64,'jobs':[[9,'8000000000000001'],[4,'0000000000000000']]}";
static const char host_text[] =
	"{'name':'h0','address':'10.0.0.1:7711','version':'2.0.0','kernel':"
	"'6.1.0','cgroups':'hybrid','is_realtime':true,'n_cores':4,'memory':1024,'clock_ns':5,"
	"'pm':'','cpus':'0,2,4,6'}";

/* JSON with ' for ". */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_t *value;

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	value = json_loads(copy, JSON_DECODE_ANY, NULL);
	if (!value)
		tap_diag("no JSON: %s", text);
	free(copy);
	return value;
}

/* One of the four decoders: what came out is encoded again. NULL with *@err when it refuses. */
typedef json_t *again(const json_t *from, int *err, char *why, size_t size);

static json_t *job_again(const json_t *from, int *err, char *why, size_t size)
{
	struct job *job = NULL;
	json_t *to;

	*err = job_decode(&job, from, why, size);
	to = *err ? NULL : job_encode(job);
	job_free(job);
	return to;
}

static json_t *order_again(const json_t *from, int *err, char *why, size_t size)
{
	struct order *order = NULL;
	json_t *to;

	*err = order_decode(&order, from, why, size);
	to = *err ? NULL : order_encode(order, order->here);
	order_free(order);
	return to;
}

static json_t *slots_again(const json_t *from, int *err, char *why, size_t size)
{
	struct slots *slots = NULL;
	json_t *to;

	*err = slots_decode(&slots, from, why, size);
	to = *err ? NULL : slots_encode(slots);
	slots_free(slots);
	return to;
}

static json_t *host_again(const json_t *from, int *err, char *why, size_t size)
{
	struct host *host = NULL;
	json_t *to;

	*err = host_decode(&host, from, why, size);
	to = *err ? NULL : host_encode(host);
	host_free(host);
	return to;
}

static void round_trip(again *decode, const char *text)
{
	json_t *from = parse(text), *to;
	char why[256] = "", *shown;
	int err;

	must(from != NULL);
	to = decode(from, &err, why, sizeof(why));
	is_int(err, 0);
	is_str(why, "");
	shown = to ? json_dumps(to, JSON_COMPACT) : NULL;
	okf(to && json_equal(from, to), "came out as %s", shown ? shown : "nothing");
	free(shown);
	json_decref(to);
	json_decref(from);
}

/*
 * One field replaced by @value, or taken away (NULL); @where is a field, or one in a list's first
 * element.
 */
static json_t *with(const char *text, const char *list, const char *field, const char *value)
{
	json_t *from = parse(text), *in = from;

	if (list)
		in = json_array_get(json_object_get(from, list), 0);
	if (value)
		json_object_set_new(in, field, parse(value));
	else
		json_object_del(in, field);
	return from;
}

struct change {
	again *decode;
	const char *text, *list, *field, *value;
	bool is_good;
};

static void try_change(const struct change *change)
{
	json_t *from = with(change->text, change->list, change->field, change->value), *to;
	char why[256] = "";
	int err;

	to = change->decode(from, &err, why, sizeof(why));
	okf(err == (change->is_good ? 0 : -EINVAL), "%s = %s: %d %s", change->field,
	    change->value ? change->value : "(missing)", err, why);
	okf(!to == !change->is_good, "%s", change->field);
	okf(!!why[0] == !change->is_good, "%s: %s", change->field, why);
	json_decref(to);
	json_decref(from);
}

#define TRY_ALL(changes)                                                                           \
	for (size_t i = 0; i < sizeof(changes) / sizeof((changes)[0]); i++)                        \
	try_change(&(changes)[i])

#define JOB(field, value, good)                                                                    \
	{                                                                                          \
		job_again, job_text, NULL, field, value, good                                      \
	}
#define APP(field, value, good)                                                                    \
	{                                                                                          \
		job_again, job_text, "apps", field, value, good                                    \
	}
#define ORDER(field, value, good)                                                                  \
	{                                                                                          \
		order_again, order_text, NULL, field, value, good                                  \
	}
#define ORDER_HOST(field, value, good)                                                             \
	{                                                                                          \
		order_again, order_text, "hosts", field, value, good                               \
	}
#define SLOTS(field, value, good)                                                                  \
	{                                                                                          \
		slots_again, slots_text, NULL, field, value, good                                  \
	}
#define HOST(field, value, good)                                                                   \
	{                                                                                          \
		host_again, host_text, NULL, field, value, good                                    \
	}

TAP_TEST(job__golden_round_trip)
{
	round_trip(job_again, job_text);
}

TAP_TEST(job_decode__values)
{
	json_t *from = parse(job_text);
	struct job *job = NULL;
	char why[256];

	must(is_int(job_decode(&job, from, why, sizeof(why)), 0));
	json_decref(from);
	is_int(job->class, JOB_EXCLUSIVE);
	is_int(job->bind, JOB_BIND_HOST);
	is_int(job->n_limits, 2);
	is_int(job->limits[0].resource, 7);
	is_int(job->limits[0].soft, 10);
	ok(job->limits[0].hard == RLIM_INFINITY);
	is_str(job->env[1], "B=");
	ok(!job->env[2]);
	is_str(job->apps[0].argv[1], "");
	is_str(job->apps[1].argv[1], "\xff");
	ok(!job->apps[1].argv[2] && !job->apps[1].cwd);
	is_int(job->stdin_rank, JOB_STDIN_ALL);
	is_int(job->umask, 077);
	job_free(job);
}

TAP_TEST(job_decode__what_may_be_missing)
{
	json_t *from = parse("{'name':'a','ranks':1,'cwd':'/','apps':[{'argv':['a'],'ranks':1}]}");
	struct job *job = NULL;
	char why[256];

	must(is_int(job_decode(&job, from, why, sizeof(why)), 0));
	json_decref(from);
	is_int(job->class, JOB_SHARED);
	is_int(job->bind, JOB_BIND_CORE);
	is_int(job->cores, 1);
	is_int(job->stdin_rank, 0);
	is_int(job->umask, 022);
	ok(job->env && !job->env[0] && !job->group && !job->network && !job->n_limits);
	job_free(job);
}

TAP_TEST(job_decode__bounds)
{
	static const struct change changes[] = {
		JOB("name", NULL, false),
		JOB("name", "''", false),
		JOB("name", "'a\\nb'", false),
		JOB("name", "'a\\u007f'", false),
		JOB("name", "5", false),
		JOB("name", "{'hex':'61'}", false),
		JOB("nodes", "0", true),
		JOB("nodes", "4", true),
		JOB("nodes", "5", false),
		JOB("nodes", "-1", false),
		JOB("nodes", "1", false), /* 2 on each do not hold 4 */
		JOB("nodes", "2.0", false),
		JOB("per_node", "0", true),
		JOB("per_node", "4096", true),
		JOB("per_node", "4097", false),
		JOB("per_node", "1", false),
		JOB("ranks", "0", false),
		JOB("ranks", "5", false),
		JOB("ranks", "1000001", false),
		JOB("ranks", "'4'", false),
		JOB("ranks", NULL, false),
		JOB("group", NULL, true),
		JOB("group", "''", false),
		JOB("network", NULL, true),
		JOB("network", "[]", false),
		JOB("class", "'shared'", true),
		JOB("class", "'other'", false),
		JOB("class", "1", false),
		JOB("bind", "'none'", true),
		JOB("bind", "''", false),
		JOB("cores", "0", false),
		JOB("cores", "4096", true),
		JOB("cores", "4097", false),
		JOB("memory", NULL, true),
		JOB("memory", "0", false),
		JOB("memory", "1048575", false),
		JOB("memory", "1125899906842624", true),
		JOB("memory", "1125899906842625", false),
		JOB("memory", "-1", false),
		JOB("memory", "1e9", false),
		JOB("memory", "'64M'", false),
		JOB("priority", "1000", true),
		JOB("priority", "1001", false),
		JOB("priority", "-1000", true),
		JOB("priority", "-1001", false),
		JOB("timeout", "0", true),
		JOB("timeout", "-0.1", false),
		JOB("timeout", "1e9", true),
		JOB("timeout", "1.1e9", false),
		JOB("checkpoint_s", "0.5", true),
		JOB("checkpoint_s", "-1", false),
		JOB("restarts", "1", false),
		JOB("timeout", "'1'", false),
		JOB("oversubscribe", "1", false),
		JOB("report_bindings", "null", false),
		JOB("statistics", "'true'", false),
		JOB("debugged", "1", false),
		JOB("pty", "[]", false),
		JOB("pty_rank", "-1", false),
		JOB("pty_rank", "4", false),
		JOB("stdin", "-2", true),
		JOB("stdin", "-3", false),
		JOB("stdin", "3", true),
		JOB("stdin", "4", false),
		JOB("umask", "511", true),
		JOB("umask", "512", false),
		JOB("cwd", NULL, false),
		JOB("cwd", "''", false),
		JOB("cwd", "'home'", false),
		JOB("cwd", "{'hex':'2fff'}", true),
		JOB("cwd", "{'hex':'2fFF'}", false),
		JOB("cwd", "{'hex':'2f0'}", false),
		JOB("cwd", "{'hex':'2f00'}", false),
		JOB("cwd", "{'hex':1}", false),
		JOB("cwd", "{}", false),
		JOB("env", "['=x']", false),
		JOB("env", "['x']", false),
		JOB("env", "[1]", false),
		JOB("env", "{}", false),
		JOB("env", "[{'hex':'413dff'}]", true),
		JOB("limits", "[]", true),
		JOB("limits", "[[0,1]]", false),
		JOB("limits", "[[0,1,2,3]]", false),
		JOB("limits", "[[-1,1,2]]", false),
		JOB("limits", "[[15,1,2]]", true),
		JOB("limits", "[[16,1,2]]", false),
		JOB("limits", "[[0,-2,2]]", false),
		JOB("limits", "[[0,3,2]]", false),
		JOB("limits", "[[0,-1,2]]", false),
		JOB("limits", "[[0,'1',2]]", false),
		JOB("limits", "[7]", false),
		JOB("apps", NULL, false),
		JOB("apps", "[]", false),
		JOB("apps", "[1]", false),
		JOB("apps", "{}", false),
		APP("argv", NULL, false),
		APP("argv", "[]", false),
		APP("argv", "['']", false),
		APP("argv", "[{'hex':'ff00'}]", false),
		APP("argv", "[{'hex':''}]", false),
		APP("argv", "'a'", false),
		APP("env", "['A']", false),
		APP("cwd", NULL, true),
		APP("cwd", "'x'", false),
		APP("ranks", "0", false),
		APP("ranks", "2", false), /* the sum */
		APP("ranks", NULL, false),
	};

	TRY_ALL(changes);
}

/* @n times @what in a list that ends in @last. */
static char *many(size_t n, const char *what, const char *last)
{
	char *text = malloc(n * (strlen(what) + 1) + strlen(last) + 3), *at = text;

	*at++ = '[';
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "%s,", what);
	sprintf(at, "%s]", last);
	return text;
}

TAP_TEST(job_decode__long_lists)
{
	char *env = many(65535, "'A=1'", "'A=1'"), *more = many(65536, "'A=1'", "'A=1'");
	char *apps = many(128, "{'argv':['a'],'ranks':1}", "{'argv':['a'],'ranks':1}");
	const struct change changes[] = {
		JOB("env", env, true),
		JOB("env", more, false),
		JOB("apps", apps, false),
	};

	TRY_ALL(changes);
	free(env);
	free(more);
	free(apps);
}

TAP_TEST(job_decode__long_texts)
{
	char *text = malloc(131074 + 3);
	struct change change = APP("cwd", text, true);

	sprintf(text, "'/%0131070d'", 0);
	try_change(&change);
	sprintf(text, "'/%0131071d'", 0);
	change.is_good = false;
	try_change(&change);
	free(text);
}

TAP_TEST(job_decode__no_object)
{
	static const char *const wrong[] = {"[]", "1", "null", "'x'", "{}"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *from = parse(wrong[i]);
		struct job *job = NULL;
		char why[128] = "";

		is_int(job_decode(&job, from, why, sizeof(why)), -EINVAL);
		ok(!job && why[0]);
		json_decref(from);
	}
}

TAP_TEST(job_decode__a_sentence_names_the_field)
{
	json_t *from = with(job_text, NULL, "umask", "512");
	struct job *job = NULL;
	char why[128] = "";

	is_int(job_decode(&job, from, why, sizeof(why)), -EINVAL);
	is_str(why, "job: umask must be a whole number from 0 to 511");
	json_decref(from);
}

TAP_TEST(order__golden_round_trip)
{
	round_trip(order_again, order_text);
}

TAP_TEST(order_decode__values)
{
	json_t *from = parse(order_text);
	struct order *order = NULL;
	char why[256], name[256];

	must(is_int(order_decode(&order, from, why, sizeof(why)), 0));
	json_decref(from);
	ok(order->key == 0xfedcba9876543210);
	is_int(order->here, 1);
	is_int(order->hosts[0].cores[0], 3);
	is_int(order->hosts[1].first, 1);
	order_namespace(order, 0, name, sizeof(name));
	is_str(name, "lab.7.1");
	order_namespace(order, 12, name, sizeof(name));
	is_str(name, "lab.7.1.12");
	order_namespace(order, 12, name, 4);
	is_str(name, "lab");
	order_free(order);
}

TAP_TEST(order_decode__bounds)
{
	static const struct change changes[] = {
		ORDER("id", "0", false),
		ORDER("id", "9223372036854775807", true),
		ORDER("id", NULL, false),
		ORDER("key", "'0123456789abcde'", false),
		ORDER("key", "'0123456789abcdeg'", false),
		ORDER("key", "'0123456789ABCDEF'", false),
		ORDER("key", "5", false),
		ORDER("incarnation", "-1", false),
		ORDER("incarnation", "4294967295", true),
		ORDER("incarnation", "4294967296", false),
		ORDER("uid", "0", true),
		ORDER("uid", "4294967294", true),
		ORDER("uid", "4294967295", false),
		ORDER("uid", NULL, false),
		ORDER("gid", "4294967295", false),
		ORDER("gid", NULL, false),
		ORDER("cluster", "'a b'", false),
		ORDER("cluster", "''", false),
		ORDER("cluster", "5", false),
		ORDER("here", "2", false),
		ORDER("here", "-1", false),
		ORDER("hosts", "[]", false),
		ORDER("hosts", "[1,2]", false),
		ORDER("hosts", NULL, false),
		ORDER("job", NULL, false),
		ORDER("job", "{}", false),
		ORDER_HOST("name", "'a/b'", false),
		ORDER_HOST("name", NULL, false),
		ORDER_HOST("address", "''", false),
		ORDER_HOST("first", "1", false),
		ORDER_HOST("ranks", "0", false),
		ORDER_HOST("ranks", "2", false),
		ORDER_HOST("ranks", "4097", false),
		ORDER_HOST("cores", "[]", false),
		ORDER_HOST("cores", "[1,1]", false),
		ORDER_HOST("cores", "[4096]", false),
		ORDER_HOST("cores", "[-1]", false),
		ORDER_HOST("cores", "['1']", false),
	};

	TRY_ALL(changes);
}

TAP_TEST(order_decode__long_cluster_leaves_room_for_the_numbers)
{
	char text[140], name[256];
	struct change change = ORDER("cluster", text, true);
	json_t *from;
	struct order *order = NULL;

	sprintf(text, "'%0129d'", 0);
	change.is_good = false;
	try_change(&change);
	sprintf(text, "'%0128d'", 0);
	from = with(order_text, NULL, "cluster", text);
	must(is_int(order_decode(&order, from, name, sizeof(name)), 0));
	order->id = UINT64_MAX;
	order->incarnation = UINT32_MAX;
	order_namespace(order, UINT32_MAX, name, sizeof(name));
	is_int(strlen(name), 128 + 1 + 20 + 1 + 10 + 1 + 10);
	order_free(order);
	json_decref(from);
}

TAP_TEST(slots__golden_round_trip)
{
	round_trip(slots_again, slots_text);
}

TAP_TEST(slots_decode__bounds)
{
	static const struct change changes[] = {
		SLOTS("number", "-1", false),
		SLOTS("number", NULL, false),
		SLOTS("begins_ns", "9223372036854775807", true),
		SLOTS("begins_ns", "-1", false),
		SLOTS("quantum_ns", "10000000", true),
		SLOTS("quantum_ns", "9999999", false),
		SLOTS("quantum_ns", "10000000000", true),
		SLOTS("quantum_ns", "10000000001", false),
		SLOTS("rows", "0", false),
		SLOTS("rows", "65", false),
		SLOTS("rows", "63", false), /* job 9 is in the 64th */
		SLOTS("jobs", "[]", true),
		SLOTS("jobs", NULL, true),
		SLOTS("jobs", "[[0,'0000000000000001']]", false),
		SLOTS("jobs", "[[1,'1']]", false),
		SLOTS("jobs", "[[1]]", false),
		SLOTS("jobs", "[1]", false),
		SLOTS("jobs", "[[1,'0000000000000001'],[1,'0000000000000002']]", false),
		SLOTS("jobs", "[['1','0000000000000001']]", false),
	};

	TRY_ALL(changes);
}

TAP_TEST(slots_row__quanta_and_rows)
{
	const struct slots slots = {.begins_ns = 1000, .quantum_ns = 10, .n_rows = 3};
	static const struct {
		uint64_t now;
		uint32_t row;
		uint64_t until;
	} want[] = {
		{1000, 0, 1010}, {1009, 0, 1010}, {1010, 1, 1020}, {1029, 2, 1030},
		{1030, 0, 1040}, {999, 2, 1000},  {990, 2, 1000},  {989, 1, 990},
		{970, 0, 980},   {969, 2, 970},   {5, 2, 10},      {3001000, 0, 3001010},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		uint64_t until = 0;

		is_int(slots_row(&slots, want[i].now, &until), want[i].row);
		is_int(until, want[i].until);
	}
}

TAP_TEST(slots_runs__each_row)
{
	const struct slots_job job = {.id = 1, .rows = 1ull << 63 | 1};

	for (uint32_t row = 0; row < SLOTS_ROWS_MAX; row++)
		is_int(slots_runs(&job, row), row == 0 || row == 63);
}

TAP_TEST(host__golden_round_trip)
{
	round_trip(host_again, host_text);
}

TAP_TEST(host_decode__bounds)
{
	static const struct change changes[] = {
		HOST("name", "'h 0'", false),
		HOST("name", "''", false),
		HOST("address", NULL, false),
		HOST("version", "5", false),
		HOST("kernel", "''", false),
		HOST("kernel", "'a\\u001b[0m'", false),
		HOST("cgroups", "'v3'", false),
		HOST("cgroups", "'none'", true),
		HOST("n_cores", "0", false),
		HOST("n_cores", "4096", true),
		HOST("n_cores", "4097", false),
		HOST("memory", "-1", false),
		HOST("clock_ns", "1.5", false),
		HOST("pm", "'ethernet eth1 eth2, shmem, udp'", true),
		HOST("pm", "'a\\n'", false),
		HOST("pm", NULL, false),
	};

	TRY_ALL(changes);
}
