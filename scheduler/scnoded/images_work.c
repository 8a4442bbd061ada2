// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/images_work.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/criu/dump.h"
#include "scheduler/scnoded/cut.h"
#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/holdings/writables.h"

/* Takes @text, which may be NULL. */
static void tell(char *text, char *ret)
{
	snprintf(ret, ERRAND_TEXT_MAX, "%s", text ? text : "");
	free(text);
}

/* ---- to prepare ---- */

/* Bytes of a process that are in no file; 0: it has ended. */
static uint64_t memory_of(pid_t pid)
{
	unsigned long long resident, shared;
	char path[64];
	uint64_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu %llu", &resident, &shared) == 2 && resident > shared)
		bytes = (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
	fclose(file);
	return bytes;
}

static void say_criu(const struct criu *criu)
{
	char said[sizeof(criu->program) + 32];

	snprintf(said, sizeof(said), "%d %d %s", criu->major, criu->minor, criu->program);
	errand_say(said);
}

/* Bytes in a file system in memory of the job. */
static uint64_t files_of(pid_t init, const char *path)
{
	char there[PATH_MAX + 64];
	struct statvfs fs;

	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)init, path);
	return statvfs(there, &fs) ? 0 : (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
}

void images_work_prepare(const void *input, char *ret)
{
	const struct images_work *work = input;
	uint64_t bytes = files_of(work->init, "/dev/shm") + files_of(work->init, work->tmp);
	struct criu criu;
	char *text = criu_find(&criu, work->criu_said, work->host);

	if (!text) {
		for (size_t i = 0; i < work->n_members; i++)
			bytes += memory_of(work->members[i]);
		text = store_begin(&work->place, work->host, bytes);
	}
	if (!text)
		say_criu(&criu);
	tell(text, ret);
}

bool images_work_criu(const char *said, struct criu *ret)
{
	int at = 0;

	if (sscanf(said, "%d %d %n", &ret->major, &ret->minor, &at) != 2 || !at)
		return false;
	return snprintf(ret->program, sizeof(ret->program), "%s", said + at) <
	       (int)sizeof(ret->program);
}

/* ---- to write ---- */

static bool add_writables(const struct holdings *h, struct hostfile *about)
{
	struct writable *list = NULL;
	ssize_t n = writables_list(h, &list);

	about->writables = n > 0 ? calloc((size_t)n, sizeof(*about->writables)) : NULL;
	for (ssize_t i = 0; i < n && about->writables; i++) {
		struct hostfile_writable *each = &about->writables[about->n_writables];

		*each = (struct hostfile_writable){.path = strdup(list[i].path),
						   .device = list[i].device,
						   .inode = list[i].inode,
						   .size = list[i].size};
		about->n_writables += each->path != NULL;
	}
	free(list);
	return n >= 0 && about->n_writables == (size_t)n;
}

/* Notes what CRIU does not keep of the processes, which stand still. */
static char *look(const struct images_work *work, struct hostfile *about)
{
	struct holdings h = {.n_processes = 0};
	char *text = NULL;

	if (survey_job(work->survey, &h))
		text = daemon_text("job %" PRIu64 " has no processes on %s any more; only a job "
				   "that runs can be written down",
				   work->place.job, work->host);
	else if (!add_writables(&h, about))
		text = daemon_text("host %s has no memory for a checkpoint of job %" PRIu64
				   "; free some there, and try again",
				   work->host, work->place.job);
	holdings_free(&h);
	return text;
}

static char *cpu_flags(void)
{
	char *line = NULL, *flags = NULL;
	FILE *file = fopen("/proc/cpuinfo", "re");
	size_t size = 0;
	ssize_t n = 0;

	while (file && !flags && (n = getline(&line, &size, file)) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "flags", 5) && strchr(line, ':'))
			flags = strdup(strchr(line, ':') + 1 + strspn(strchr(line, ':') + 1, " "));
	}
	free(line);
	if (file)
		fclose(file);
	return flags ? flags : strdup("");
}

static void describe(const struct images_work *work, struct hostfile *about)
{
	struct utsname machine;

	*about = (struct hostfile){.n_hosts = (uint32_t)work->order->n_hosts,
				   .taken = clock_realtime_s(),
				   .cpu_flags = cpu_flags(),
				   .order = order_encode(work->order, work->place.index)};
	uname(&machine);
	snprintf(about->host, sizeof(about->host), "%s", work->host);
	snprintf(about->kernel, sizeof(about->kernel), "%s", machine.release);
	snprintf(about->criu, sizeof(about->criu), "%d.%d", work->criu.major, work->criu.minor);
}

static char *dump(const struct images_work *work, struct hostfile *about)
{
	struct dump_order order = {.criu = &work->criu,
				   .init = work->init,
				   .host = work->host,
				   .job = work->place.job,
				   .tmp = work->tmp};
	char *text = look(work, about);

	order.images = text ? -EINVAL : store_open(&work->place, false);
	if (!text && order.images < 0)
		text = daemon_text("host %s: the directory for images of job %" PRIu64
				   " below %s: %s; look after it there",
				   work->host, work->place.job, work->place.directory,
				   strerror(-order.images));
	if (!text)
		text = dump_job(&order);
	if (order.images >= 0)
		close(order.images);
	return text;
}

void images_work_write(const void *input, char *ret)
{
	const struct images_work *work = input;
	struct hostfile about;
	uint64_t bytes = 0;
	char said[32], *text;

	/* A signal to scnoded's group is not for a CRIU. */
	setsid();
	describe(work, &about);
	text = dump(work, &about);
	if (!text) {
		errand_say("");
		text = store_seal(&work->place, &about, &bytes);
	}
	if (!text) {
		snprintf(said, sizeof(said), "%" PRIu64, bytes);
		errand_say(said);
	}
	hostfile_fini(&about);
	tell(text, ret);
}

/* ---- to restore ---- */

/* Whether each word of @wanted is one of @there. The first that is not goes to @ret. */
static bool has_words(const char *there, const char *wanted, char *ret, size_t size)
{
	while (*wanted) {
		size_t n = strcspn(wanted, " ");
		const char *at = there;

		while (n && (strncmp(at, wanted, n) || (at[n] && at[n] != ' '))) {
			at += strcspn(at, " ");
			at += strspn(at, " ");
			if (!*at) {
				snprintf(ret, size, "%.*s", (int)n, wanted);
				return false;
			}
		}
		wanted += n;
		wanted += strspn(wanted, " ");
	}
	return true;
}

/* The libraries have chosen what the processor of then can do. */
static char *check_processor(const struct images_work *work, const struct hostfile *about)
{
	char *flags = cpu_flags(), lacks[64], *text = NULL;

	if (flags && !has_words(flags, about->cpu_flags, lacks, sizeof(lacks)))
		text = daemon_text("host %s: job %" PRIu64 " can't be restored there, as its "
				   "processor has no %s; take a host like %s, where it was "
				   "written",
				   work->host, work->place.job, lacks, about->host);
	free(flags);
	return text;
}

/* Numbers of jobs and users may mean others than then: CRIU restores those of the images. */
static char *check_order(const struct images_work *work, const struct hostfile *about)
{
	const struct order *now = work->order;
	struct order *then;
	char why[200], *text = NULL;

	if (order_decode(&then, about->order, why, sizeof(why)))
		return daemon_text("host %s: the images of job %" PRIu64 " have no order: %s",
				   work->host, work->place.job, why);
	if (then->id != now->id || then->uid != now->uid || then->gid != now->gid ||
	    then->key != now->key || then->n_hosts != now->n_hosts)
		text = daemon_text("host %s: the images of job %" PRIu64 " are of another job of "
				   "that number; remove %s/%" PRIu64 " there",
				   work->host, work->place.job, work->place.directory,
				   work->place.job);
	order_free(then);
	return text;
}

/* Takes @text, which may be NULL. */
static char *of_host(const char *host, char *text)
{
	char *whole = text ? daemon_text("host %s: %s", host, text) : NULL;

	free(text);
	return whole;
}

void images_work_verify(const void *input, char *ret)
{
	const struct images_work *work = input;
	struct hostfile about = {.n_files = 0};
	struct criu criu;
	char *text = criu_find(&criu, work->criu_said, work->host);

	if (!text)
		text = of_host(work->host, store_verify(&work->place, &about));
	if (!text)
		text = check_order(work, &about);
	if (!text)
		text = check_processor(work, &about);
	if (!text)
		text = cut_files(&about, work->host, work->tmp, work->order->uid, work->order->gid);
	if (!text)
		say_criu(&criu);
	hostfile_fini(&about);
	tell(text, ret);
}

/* ---- its end ---- */

void images_work_commit(const void *input, char *ret)
{
	const struct images_work *work = input;

	tell(store_commit(&work->place, work->keep), ret);
}

void images_work_drop(const void *input, char *ret)
{
	const struct images_work *work = input;

	tell(store_abandon(&work->place), ret);
}

void images_work_remove(const void *input, char *ret)
{
	const struct images_work *work = input;

	tell(store_remove(work->place.directory, work->place.job, work->host), ret);
}

void images_work_clean(const void *input, char *ret)
{
	const struct images_work *work = input;
	char identity[STORE_IDENTITY_SIZE];

	/* A user who wants a checkpoint there is told what is wrong with the directory. */
	if (!store_identity(work->place.directory, work->host, identity))
		errand_say(identity);
	store_clean(work->place.directory, work->host);
	*ret = 0;
}
