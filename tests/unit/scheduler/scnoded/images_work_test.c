// SPDX-License-Identifier: BSD-3-Clause
/*
 * images_work: where CRIU is, as the child says it, and what is checked before a restart. CRIU, the
 * store and the cut are fakes; the processor is this one.
 */
#include "scheduler/scnoded/images_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/criu/dump.h"
#include "scheduler/scnoded/cut.h"
#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/holdings/writables.h"
#include "tests/harness/tap.h"

#define HOST "n1"

static struct {
	const char *criu, *verify, *cut; /* why not */
	char flags[8192];                /* of the processor when the images were written */
	struct order then;               /* the order of the images */
	bool is_broken;                  /* that */
	char heard[400];
} t;

static char *refuse(const char *call, const char *why)
{
	strcat(t.heard, call);
	return why ? strdup(why) : NULL;
}

char *criu_find(struct criu *ret, const char *said, const char *host)
{
	*ret = (struct criu){.major = 4, .minor = 2};
	strcpy(ret->program, "/opt/my criu/criu");
	is_str(said, "/opt/my criu/criu");
	return refuse("find; ", t.criu);
}

char *store_verify(const struct store_place *place, struct hostfile *ret)
{
	char *text = refuse("verify; ", t.verify);

	if (!text) {
		*ret = (struct hostfile){.job = 7, .cpu_flags = strdup(t.flags)};
		strcpy(ret->host, "n9");
	}
	return text;
}

char *cut_files(const struct hostfile *h, const char *host, const char *tmp, uid_t uid, gid_t gid)
{
	is_str(h->host, "n9");
	is_str(host, HOST);
	is_str(tmp, "/tmp/job");
	is_int(uid, 1000);
	is_int(gid, 100);
	return refuse("cut; ", t.cut);
}

int order_decode(struct order **ret, const json_t *from, char *why, size_t why_size)
{
	*ret = malloc(sizeof(**ret));
	**ret = t.then;
	if (!t.is_broken)
		return 0;
	free(*ret);
	snprintf(why, why_size, "it has no hosts");
	return -EINVAL;
}

json_t *order_encode(const struct order *order, size_t here)
{
	return NULL;
}

void order_free(struct order *order)
{
	free(order);
}

bool errand_say(const char *text)
{
	sprintf(t.heard + strlen(t.heard), "say %s; ", text);
	return true;
}

/* ---- what a restart does not call ---- */

char *store_begin(const struct store_place *place, const char *host, uint64_t bytes)
{
	return refuse("begin; ", NULL);
}

int store_open(const struct store_place *place, bool is_committed)
{
	return -1;
}

char *store_seal(const struct store_place *place, const struct hostfile *about, uint64_t *ret_bytes)
{
	return NULL;
}

char *store_commit(const struct store_place *place, uint64_t keep)
{
	return NULL;
}

char *store_abandon(const struct store_place *place)
{
	return NULL;
}

char *store_remove(const char *directory, uint64_t job, const char *host)
{
	return NULL;
}

void store_clean(const char *directory, const char *host)
{
}

int store_identity(const char *directory, const char *host, char ret[STORE_IDENTITY_SIZE])
{
	return -ENOENT;
}

char *dump_job(const struct dump_order *order)
{
	return NULL;
}

int survey_job(const struct survey_order *order, struct holdings *ret)
{
	return 0;
}

void holdings_free(struct holdings *h)
{
}

ssize_t writables_list(const struct holdings *h, struct writable **ret)
{
	return 0;
}

/* ---- */

static const struct order now = {.id = 7, .key = 5, .uid = 1000, .gid = 100, .n_hosts = 2};

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	t.then = now;
}

/* It is refused with @text, "" = not at all, after calls. */
static void verifies(const char *text, const char *calls)
{
	static char ret[ERRAND_TEXT_MAX];
	static const struct images_work work = {.place = {.directory = "/images", .job = 7},
						.host = HOST,
						.criu_said = "/opt/my criu/criu",
						.order = &now,
						.tmp = "/tmp/job"};

	t.heard[0] = 0;
	strcpy(ret, "x");
	images_work_verify(&work, ret);
	is_str(ret, text);
	is_str(t.heard, calls);
}

#define ALL "find; verify; cut; say 4 2 /opt/my criu/criu; "

/* False: /proc/cpuinfo has none. */
static bool has_flags(void)
{
	char line[sizeof(t.flags)];
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "flags", 5)) {
			snprintf(t.flags, sizeof(t.flags), "%s", strchr(line, ':') + 2);
			t.flags[strcspn(t.flags, "\n")] = 0;
			break;
		}
	if (file)
		fclose(file);
	return t.flags[0];
}

TAP_TEST(images_work_verify__goes_well)
{
	begin();
	verifies("", ALL);
}

TAP_TEST(images_work_verify__is_refused)
{
	begin();
	t.criu = "no criu";
	verifies("no criu", "find; ");
	t.criu = NULL;
	t.verify = "damaged";
	verifies("host n1: damaged", "find; verify; ");
	t.verify = NULL;
	t.cut = "smaller";
	verifies("smaller", "find; verify; cut; ");
}

TAP_TEST(images_work_verify__same_processor)
{
	size_t n;

	begin();
	if (!has_flags()) {
		tap_skip("/proc/cpuinfo has no flags");
		return;
	}
	verifies("", ALL);
	/* In another order, and with blanks at the end. */
	n = strcspn(t.flags, " ");
	snprintf(t.flags + strlen(t.flags), sizeof(t.flags) - strlen(t.flags), " %.*s  ", (int)n,
		 t.flags);
	verifies("", ALL);
	/* One that had less: its last word, and its first. */
	memmove(t.flags, t.flags + n, strlen(t.flags + n) + 1);
	verifies("", ALL);
	t.flags[1 + strcspn(t.flags + 1, " ")] = 0;
	verifies("", ALL);
}

static void lacks(const char *flags, const char *what)
{
	char want[300];

	snprintf(t.flags, sizeof(t.flags), "%s", flags);
	snprintf(want, sizeof(want),
		 "host n1: job 7 can't be restored there, as its processor has no %s; take a host "
		 "like n9, where it was written",
		 what);
	/* No file is cut for a restart that can't be. */
	verifies(want, "find; verify; ");
}

TAP_TEST(images_work_verify__processor_lacks_something)
{
	char flags[sizeof(t.flags)], first[64], more[sizeof(t.flags)];

	begin();
	lacks("avx9999", "avx9999");
	lacks("avx9999 avx8888", "avx9999");
	begin();
	if (!has_flags())
		return;
	strcpy(flags, t.flags);
	snprintf(more, sizeof(more), "%.8000s avx9999", flags);
	lacks(more, "avx9999");
	/* Only whole words count. */
	snprintf(first, sizeof(first), "%.*sx9", (int)strcspn(flags, " "), flags);
	lacks(first, first);
	snprintf(first, sizeof(first), "x9%.*s", (int)strcspn(flags, " "), flags);
	lacks(first, first);
	/* A long one is told in part. */
	memset(more, 'y', 200);
	more[200] = 0;
	memcpy(flags, more, 63);
	flags[63] = 0;
	lacks(more, flags);
}

TAP_TEST(images_work_criu__what_was_said)
{
	struct criu criu;

	begin();
	verifies("", ALL);
	must(images_work_criu("4 2 /opt/my criu/criu", &criu));
	is_int(criu.major, 4);
	is_int(criu.minor, 2);
	is_str(criu.program, "/opt/my criu/criu");
}

TAP_TEST(images_work_criu__nonsense)
{
	static const char *const all[] = {"", "4", "4 x", "x 2 /criu", "/usr/sbin/criu"};
	char text[2 * sizeof(((struct criu *)0)->program)];
	struct criu criu;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		okf(!images_work_criu(all[i], &criu), "\"%s\"", all[i]);
	strcpy(text, "4 2 ");
	memset(text + 4, '/', sizeof(criu.program) - 1);
	text[4 + sizeof(criu.program) - 1] = 0;
	ok(images_work_criu(text, &criu));
	is_int(strlen(criu.program), sizeof(criu.program) - 1);
	strcat(text, "/");
	ok(!images_work_criu(text, &criu));
}

/* Numbers of jobs were begun anew, or the user is another one. */
TAP_TEST(images_work_verify__of_another_job)
{
	const struct order others[] = {
		{.id = 8, .key = 5, .uid = 1000, .gid = 100, .n_hosts = 2},
		{.id = 7, .key = 6, .uid = 1000, .gid = 100, .n_hosts = 2},
		{.id = 7, .key = 5, .uid = 0, .gid = 100, .n_hosts = 2},
		{.id = 7, .key = 5, .uid = 1000, .gid = 0, .n_hosts = 2},
		{.id = 7, .key = 5, .uid = 1000, .gid = 100, .n_hosts = 3},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		begin();
		t.then = others[i];
		verifies("host n1: the images of job 7 are of another job of that number; remove "
			 "/images/7 there",
			 "find; verify; ");
	}
	begin();
	t.is_broken = true;
	verifies("host n1: the images of job 7 have no order: it has no hosts", "find; verify; ");
}
