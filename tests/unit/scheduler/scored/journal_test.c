// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char why[512];
static int n_syncs;

/* SQLite's, counted. */
int fdatasync(int fd)
{
	n_syncs++;
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	n_syncs++;
	return (int)syscall(SYS_fsync, fd);
}

static char *make_directory(void)
{
	static char path[64];

	strcpy(path, "/tmp/journal-XXXXXX");
	return mkdtemp(path);
}

static void remove_directory(const char *path)
{
	static const char *const files[] = {"journal.sqlite", "journal.sqlite-wal",
					    "journal.sqlite-shm"};
	char file[128];

	for (size_t i = 0; i < 3; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		unlink(file);
	}
	rmdir(path);
}

static struct journal_job job_of(uint64_t id)
{
	return (struct journal_job){.id = id,
				    .uid = 1000,
				    .name = "it's \"a\" job",
				    .submitted = 10,
				    .started = 20,
				    .ranks = 4,
				    .hosts = 2,
				    .order = "{\"x\":1}"};
}

struct seen {
	int n;
	uint64_t last;
	char name[64], order[64], text[64];
	int code;
};

static void see(const struct journal_job *job, void *owner)
{
	struct seen *seen = owner;

	seen->n++;
	seen->last = job->id;
	seen->code = job->code;
	snprintf(seen->name, sizeof(seen->name), "%s", job->name);
	snprintf(seen->order, sizeof(seen->order), "%s", job->order);
	snprintf(seen->text, sizeof(seen->text), "%s", job->text);
}

/* How often the mode of the file in a watched directory was changed. */
static int count_changes(int fd, const char *name)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t size;
	int n = 0;

	while ((size = read(fd, room, sizeof(room))) > 0)
		for (char *at = room; at < room + size;) {
			const struct inotify_event *event = (const void *)at;

			n += event->len && !strcmp(event->name, name);
			at += sizeof(*event) + event->len;
		}
	return n;
}

TAP_TEST(journal_open__private_from_the_first_byte)
{
	const char *path = make_directory();
	mode_t mask = umask(0);
	int changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), n = 0;
	const struct dirent *entry;
	struct journal *j;
	struct stat st;
	DIR *dir;

	ok(inotify_add_watch(changes, path, IN_ATTRIB) >= 0);
	j = journal_open(path, why, sizeof(why));
	must(j);
	is_int(umask(mask), 0); /* as it was */
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    is_int(fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0)) {
			okf((st.st_mode & 07777) == 0600, "%s %04o", entry->d_name,
			    st.st_mode & 07777);
			n++;
		}
	closedir(dir);
	ok(n >= 2); /* the database and its log at least */
	is_int(count_changes(changes, "journal.sqlite"), 0);
	close(changes);
	journal_close(j);
	remove_directory(path);
}

TAP_TEST(journal_open__directory_or_file_of_somebody_else)
{
	char link[128], file[128];
	const char *path = make_directory();

	snprintf(link, sizeof(link), "%s-link", path);
	is_int(symlink(path, link), 0);
	ok(!journal_open(link, why, sizeof(why)));
	ok(strstr(why, link) && strstr(why, "link") && strstr(why, "--state"));
	unlink(link);
	is_int(chmod(path, 0777), 0);
	ok(!journal_open(path, why, sizeof(why)));
	ok(strstr(why, path) && strstr(why, "0777") && strstr(why, "--state"));
	is_int(chmod(path, 0700), 0);
	snprintf(file, sizeof(file), "%s/journal.sqlite-wal", path);
	is_int(symlink("/tmp/elsewhere", file), 0);
	ok(!journal_open(path, why, sizeof(why)));
	ok(strstr(why, file));
	unlink(file);
	if (!geteuid()) {
		is_int(chown(path, 65534, 65534), 0);
		ok(!journal_open(path, why, sizeof(why)));
		ok(strstr(why, path) && strstr(why, "65534") && strstr(why, "--state"));
	}
	remove_directory(path);
}

TAP_TEST(journal__numbers_never_come_again)
{
	char *dir = make_directory();
	struct journal *j = journal_open(dir, why, sizeof(why));
	uint64_t first;

	must(j);
	first = journal_number(j, why, sizeof(why));
	is_int(first, 1);
	is_int(journal_number(j, why, sizeof(why)), 2);
	journal_close(j);
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_int(journal_number(j, why, sizeof(why)), 3);
	journal_close(j);
	remove_directory(dir);
}

TAP_TEST(journal__running_jobs_are_found_after_a_kill)
{
	char *dir = make_directory();
	struct seen seen = {0};
	struct journal *j;
	pid_t child = fork();

	if (!child) {
		struct journal_job one = job_of(7), two = job_of(8);

		j = journal_open(dir, why, sizeof(why));
		if (!j || journal_started(j, &one, why, sizeof(why)) ||
		    journal_started(j, &two, why, sizeof(why)))
			_exit(1);
		two.ended = 30;
		two.code = 137;
		two.text = "rank 1 on h1 was killed";
		if (journal_ended(j, &two, why, sizeof(why)))
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(child, NULL, 0);
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_int(journal_running(j, see, &seen, why, sizeof(why)), 0);
	is_int(seen.n, 1);
	is_int(seen.last, 7);
	is_str(seen.name, "it's \"a\" job");
	is_str(seen.order, "{\"x\":1}");
	seen = (struct seen){0};
	is_int(journal_history(j, 10, see, &seen, why, sizeof(why)), 0);
	is_int(seen.n, 1);
	is_int(seen.last, 8);
	is_int(seen.code, 137);
	is_str(seen.text, "rank 1 on h1 was killed");
	journal_close(j);
	remove_directory(dir);
}

TAP_TEST(journal__one_scored_at_a_time)
{
	char *dir = make_directory();
	struct journal *j = journal_open(dir, why, sizeof(why));

	must(j);
	ok(!journal_open(dir, why, sizeof(why)));
	okf(strstr(why, dir) && strstr(why, "another scored"), "%s", why);
	journal_close(j);
	remove_directory(dir);
	ok(!journal_open("/proc/nowhere/at/all", why, sizeof(why)));
	okf(strstr(why, "/proc/nowhere/at/all") && strstr(why, "--state"), "%s", why);
}

TAP_TEST(journal__full_disk_is_told)
{
	char *dir = make_directory(), *name = calloc(1, 1 << 20);
	struct journal_job job = job_of(1);
	struct journal *j;

	if (mount("none", dir, "tmpfs", 0, "size=256k,mode=700")) {
		tap_skip("mounting a small tmpfs needs root");
		rmdir(dir);
		free(name);
		return;
	}
	j = journal_open(dir, why, sizeof(why));
	if (ok(j)) {
		memset(name, 'x', (1 << 20) - 1);
		job.order = name;
		is_int(journal_started(j, &job, why, sizeof(why)), -ENOSPC);
		okf(strstr(why, "make room"), "%s", why);
		job.order = "{}";
		is_int(journal_started(j, &job, why, sizeof(why)), 0);
		journal_close(j);
	}
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	free(name);
}

TAP_TEST(journal__none_is_in_memory)
{
	struct journal *j = journal_open(JOURNAL_NONE, why, sizeof(why));
	struct journal_job job = job_of(1);

	if (!ok(j))
		return;
	is_int(journal_number(j, why, sizeof(why)), 1);
	is_int(journal_started(j, &job, why, sizeof(why)), 0);
	is_int(access(JOURNAL_NONE, F_OK), -1);
	is_int(access(":memory:", F_OK), -1);
	journal_close(j);
}

/*
 * Runs @sql on the journal in @dir, which must be closed; the number in the first row, 0 = no row,
 * -1 = failed.
 */
static int query(const char *dir, const char *sql)
{
	char path[128];
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	int n = -1;

	snprintf(path, sizeof(path), "%s/journal.sqlite", dir);
	if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, sql, -1, &s, NULL))
		n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

static void end_jobs(const char *dir, uint64_t first, int n)
{
	struct journal *j = journal_open(dir, why, sizeof(why));

	must(j);
	for (int i = 0; i < n; i++) {
		struct journal_job job = job_of(first + (uint64_t)i);

		job.ended = 30;
		is_int(journal_ended(j, &job, why, sizeof(why)), 0);
	}
	journal_close(j);
}

TAP_TEST(journal__the_oldest_are_dropped)
{
	static const char fill[] =
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 12000)"
		" INSERT INTO job SELECT x, 0, '', 0, 0, x > 1, 1, 1, 0, '', '' FROM n";
	char *dir = make_directory();
	struct journal *j = journal_open(dir, why, sizeof(why));

	must(j);
	journal_close(j);
	must(is_int(query(dir, fill), 0));
	end_jobs(dir, 12001, 1);
	is_int(query(dir, "SELECT COUNT(*) FROM job WHERE ended > 0"), JOURNAL_HISTORY);
	is_int(query(dir, "SELECT MAX(id) FROM job"), 12001);
	is_int(query(dir, "SELECT MIN(id) FROM job WHERE ended > 0"), 12002 - JOURNAL_HISTORY);
	/* The one that runs is not history. */
	is_int(query(dir, "SELECT MIN(id) FROM job"), 1);
	end_jobs(dir, 12002, JOURNAL_BEYOND);
	is_int(query(dir, "SELECT COUNT(*) FROM job WHERE ended > 0"),
	       JOURNAL_HISTORY + JOURNAL_BEYOND - 1);
	remove_directory(dir);
}

/* ---- leases ---- */

static void list_lease(const struct journal_lease *lease, void *owner)
{
	char *to = owner;

	sprintf(to + strlen(to), "%llu %u %lld %s;", (unsigned long long)lease->id, lease->uid,
		(long long)lease->since, lease->request);
}

static const char *leases(struct journal *j)
{
	static char text[256];

	*text = 0;
	is_int(journal_leases(j, list_lease, text, why, sizeof(why)), 0);
	return text;
}

TAP_TEST(journal__leases_outlive_us_and_who_took_one_is_known)
{
	char *path = make_directory(), text[64] = "";
	struct journal *j = journal_open(path, why, sizeof(why));
	struct journal_lease one = {.id = 4, .uid = 1000, .since = 99, .request = "{1}"};
	struct journal_lease two = {.id = 5, .uid = 1001, .since = 100, .request = "{2}"};
	struct journal_lease three = {.id = 6, .uid = 1001, .since = 101, .request = "{3}"};
	uid_t root = 0;

	is_int(journal_lease_begun(j, &one, why, sizeof(why)), 0);
	is_int(journal_lease_begun(j, &two, why, sizeof(why)), 0);
	is_int(journal_lease_begun(j, &three, why, sizeof(why)), 0);
	is_int(journal_lease_ended(j, &one, NULL, NULL, why, sizeof(why)), 0);
	is_int(journal_lease_ended(j, &two, &root, "taken by root", why, sizeof(why)), 0);
	journal_close(j);
	j = journal_open(path, why, sizeof(why));
	is_str(leases(j), "6 1001 101 {3};");
	ok(journal_lease_taken(j, 5, 1001, text, sizeof(text)));
	is_str(text, "taken by root");
	ok(!journal_lease_taken(j, 5, 1000, text, sizeof(text)));
	ok(!journal_lease_taken(j, 4, 1000, text, sizeof(text)));
	journal_close(j);
	remove_directory(path);
}

TAP_TEST(journal__a_lease_waits_for_the_disk_once)
{
	static const uid_t root = 0;
	char *dir = make_directory();
	struct journal *j = journal_open(dir, why, sizeof(why));
	struct journal_lease one = {.uid = 1000, .since = 99, .request = "{1}"};

	must(j);
	/* The first that is written makes the file of what is written. */
	one.id = journal_number(j, why, sizeof(why));
	n_syncs = 0;
	one.id = journal_lease_number(j, why, sizeof(why));
	is_int(one.id, 2);
	is_int(n_syncs, 0);
	is_int(journal_lease_begun(j, &one, why, sizeof(why)), 0);
	is_int(n_syncs, 1);
	is_int(journal_lease_ended(j, &one, NULL, NULL, why, sizeof(why)), 0);
	is_int(n_syncs, 1);
	is_int(journal_lease_begun(j, &one, why, sizeof(why)), 0);
	is_int(n_syncs, 2);
	is_int(journal_lease_ended(j, &one, &root, "taken by root", why, sizeof(why)), 0);
	is_int(n_syncs, 3);
	is_int(journal_number(j, why, sizeof(why)), 3);
	is_int(n_syncs, 4);
	journal_close(j);
	remove_directory(dir);
}

TAP_TEST(journal__what_did_not_wait_for_the_disk_outlives_a_kill)
{
	char *dir = make_directory();
	struct journal_lease one = {.uid = 1000, .since = 99, .request = "{1}"}, two = one;
	struct journal *j;
	pid_t child = fork();

	if (!child) {
		j = journal_open(dir, why, sizeof(why));
		one.id = j ? journal_lease_number(j, why, sizeof(why)) : 0;
		two.id = j ? journal_lease_number(j, why, sizeof(why)) : 0;
		if (!two.id || journal_lease_begun(j, &one, why, sizeof(why)) ||
		    journal_lease_begun(j, &two, why, sizeof(why)) ||
		    journal_lease_ended(j, &one, NULL, NULL, why, sizeof(why)) ||
		    journal_lease_number(j, why, sizeof(why)) != 3)
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(child, NULL, 0);
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_str(leases(j), "2 1000 99 {1};");
	is_int(journal_lease_number(j, why, sizeof(why)), 4);
	journal_close(j);
	remove_directory(dir);
}

/* ---- checkpoints ---- */

static struct journal_checkpoint checkpoint_of(uint64_t job, uint64_t round)
{
	return (struct journal_checkpoint){.job = job,
					   .round = round,
					   .uid = 4294967294,
					   .taken = 50,
					   .bytes = 1ull << 40,
					   .order = "{\"x\":1}"};
}

static void list_checkpoint(const struct journal_checkpoint *c, void *owner)
{
	char *to = owner;

	sprintf(to + strlen(to), "%llu@%llu ", (unsigned long long)c->job,
		(unsigned long long)c->round);
	is_int(c->uid, 4294967294);
	is_int(c->taken, 50);
	is_int(c->bytes, 1ull << 40);
	is_str(c->order, "{\"x\":1}");
}

static const char *checkpoints(struct journal *j, uint64_t job)
{
	static char text[256];

	*text = 0;
	is_int(journal_checkpoints(j, job, list_checkpoint, text, why, sizeof(why)), 0);
	return text;
}

static uint64_t number(struct journal *j, uint64_t job)
{
	return journal_checkpoint_number(j, job, why, sizeof(why));
}

static int complete(struct journal *j, uint64_t job, uint64_t round)
{
	struct journal_checkpoint c = checkpoint_of(job, round);

	return journal_checkpoint_done(j, &c, why, sizeof(why));
}

TAP_TEST(journal_checkpoint_number__each_job_has_its_own)
{
	struct journal *j = journal_open(JOURNAL_NONE, why, sizeof(why));

	must(j);
	is_int(number(j, 7), 1);
	is_int(number(j, 7), 2);
	is_int(number(j, 8), 1);
	is_int(number(j, 7), 3);
	/* None of them is complete. */
	is_str(checkpoints(j, 0), "");
	journal_close(j);
}

TAP_TEST(journal_checkpoint_number__never_comes_again)
{
	char *dir = make_directory();
	struct journal *j;
	pid_t child = fork();
	int status = 0;

	if (!child) {
		j = journal_open(dir, why, sizeof(why));
		if (!j || number(j, 7) != 1 || complete(j, 7, 1) || number(j, 7) != 2)
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status));
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_str(checkpoints(j, 7), "7@1 ");
	is_int(number(j, 7), 3);
	is_int(complete(j, 7, 3), 0);
	journal_close(j);
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_str(checkpoints(j, 7), "7@3 7@1 ");
	is_int(number(j, 7), 4);
	journal_close(j);
	remove_directory(dir);
}

TAP_TEST(journal_checkpoint_done__last_two_are_kept)
{
	struct journal *j = journal_open(JOURNAL_NONE, why, sizeof(why));

	must(j);
	for (uint64_t round = 1; round <= 6; round++) {
		is_int(number(j, 7), round);
		/* 2, 3 and 5 come to nothing. */
		if (round != 2 && round != 3 && round != 5)
			is_int(complete(j, 7, round), 0);
		if (round == 1) {
			is_int(number(j, 6), 1);
			is_int(complete(j, 6, 1), 0);
		}
		if (round == 5)
			is_str(checkpoints(j, 7), "7@4 7@1 ");
	}
	is_str(checkpoints(j, 7), "7@6 7@4 ");
	is_str(checkpoints(j, 0), "6@1 7@6 7@4 ");
	is_str(checkpoints(j, 8), "");
	is_int(complete(j, 7, 6), 0);
	is_str(checkpoints(j, 7), "7@6 7@4 ");
	is_int(number(j, 7), 7);
	journal_close(j);
}

TAP_TEST(journal_checkpoints_forget__one_job)
{
	char *dir = make_directory();
	struct journal *j = journal_open(dir, why, sizeof(why));

	must(j);
	for (uint64_t job = 7; job <= 8; job++) {
		is_int(number(j, job), 1);
		is_int(complete(j, job, 1), 0);
		is_int(number(j, job), 2);
	}
	is_int(journal_checkpoints_forget(j, 7, why, sizeof(why)), 0);
	/* There is nothing any more. */
	is_int(journal_checkpoints_forget(j, 7, why, sizeof(why)), 0);
	journal_close(j);
	is_int(query(dir, "SELECT COUNT(*) FROM checkpoint WHERE job = 7"), 0);
	j = journal_open(dir, why, sizeof(why));
	must(j);
	is_str(checkpoints(j, 0), "8@1 ");
	is_int(number(j, 8), 3);
	is_int(number(j, 7), 1);
	journal_close(j);
	remove_directory(dir);
}

TAP_TEST(journal_checkpoint_done__full_disk_is_told)
{
	char *dir = make_directory(), *order = calloc(1, 1 << 20);
	struct journal_checkpoint c = checkpoint_of(7, 1);
	struct journal *j;

	if (mount("none", dir, "tmpfs", 0, "size=256k,mode=700")) {
		tap_skip("mounting a small tmpfs needs root");
		rmdir(dir);
		free(order);
		return;
	}
	j = journal_open(dir, why, sizeof(why));
	if (ok(j)) {
		memset(order, 'x', (1 << 20) - 1);
		is_int(number(j, 7), 1);
		c.order = order;
		is_int(journal_checkpoint_done(j, &c, why, sizeof(why)), -ENOSPC);
		okf(strstr(why, "make room"), "%s", why);
		is_str(checkpoints(j, 7), "");
		is_int(complete(j, 7, 1), 0);
		is_str(checkpoints(j, 7), "7@1 ");
		journal_close(j);
	}
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	free(order);
}
