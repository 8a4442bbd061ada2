// SPDX-License-Identifier: BSD-3-Clause
/* Tests of scnoded/record.c: the directory for temporary files of a job, and its end. */
#include "scheduler/scnoded/record.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

#define BYTES (4u << 20)
#define USER 70001u /* no user of this machine */
#define GROUP 70002u

static char base[64], run[80], why[256];
static bool wants_checkpoint; /* the next job */

/* The run directory is in memory, by a file system of its own, or where other files are. */
static char *make(struct small_order *small, bool is_in_memory, uint64_t bytes)
{
	static char *none[] = {NULL};
	char *tmp = NULL;

	strcpy(base, "/var/tmp/record-XXXXXX");
	if (!mkdtemp(base) || (is_in_memory && mount("none", base, "tmpfs", 0, NULL)) ||
	    chmod(base, 0711))
		abort();
	snprintf(run, sizeof(run), "%s/run", base);
	ok(!record_open(run, why, sizeof(why)));
	small_order_init(small, 1, 2);
	small->job.name = small->job.cwd = (char *)"/";
	small->order.hosts[0].address = (char *)"here:1";
	small->order.hosts[0].n_cores = 0;
	small->job.env = small->apps[0].env = small->apps[1].env = none;
	small->job.wants_checkpoint = wants_checkpoint;
	small->order.uid = USER;
	small->order.gid = GROUP;
	okf(!record_make(run, &small->order, bytes, &tmp, why, sizeof(why)), "%s", why);
	return tmp;
}

static void end(struct small_order *small, char *tmp)
{
	uint64_t *ids;

	record_remove(run, small->order.id);
	is_int(record_list(run, &ids), 0);
	free(ids);
	record_close(run);
	ok(access(run, F_OK) < 0);
	umount(base);
	is_int(rmdir(base), 0);
	small_order_fini(small);
	free(tmp);
}

static dev_t device_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_dev;
}

/* Bytes that fit into a file of @dir, to be written at once. */
static ssize_t fill(const char *dir, size_t bytes)
{
	char path[PATH_MAX], *data = calloc(1, bytes);
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/filler", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	n = write(fd, data, bytes);
	close(fd);
	free(data);
	return n;
}

/* Its init mounts on them, where only the job sees it. */
TAP_TEST(record_make__job_with_namespaces)
{
	struct small_order small;
	struct stat st;
	char path[PATH_MAX], *tmp;

	if (geteuid()) {
		tap_skip("only root makes directories for others");
		return;
	}
	wants_checkpoint = true;
	tmp = make(&small, true, BYTES);
	wants_checkpoint = false;
	ok(!stat(tmp, &st) && !st.st_uid && (st.st_mode & 07777) == 0711);
	ok(st.st_dev == device_of(run));
	record_path(run, small.order.id, RECORD_SHM, path);
	ok(!stat(path, &st) && !st.st_uid && (st.st_mode & 07777) == 0711);
	end(&small, tmp);
}

TAP_TEST(record_make__file_system_of_its_own)
{
	struct small_order small;
	struct statfs fs;
	struct stat st;
	char *tmp;

	if (geteuid()) {
		tap_skip("only root may mount");
		return;
	}
	tmp = make(&small, true, BYTES);
	must(tmp);
	is_int(statfs(tmp, &fs), 0);
	is_int(fs.f_type, TMPFS_MAGIC);
	is_int((long long)fs.f_blocks * fs.f_bsize, BYTES);
	is_int(stat(tmp, &st), 0);
	is_int(st.st_mode & 07777, 0700);
	is_int(st.st_uid, USER);
	is_int(st.st_gid, GROUP);
	is_int(fill(tmp, 2 * BYTES), BYTES);
	/* The files of scnoded lie elsewhere. */
	is_int(record_process(run, small.order.id, getpid()), 0);
	end(&small, tmp);
}

TAP_TEST(record_remove__while_somebody_is_in_it)
{
	struct small_order small;
	char *tmp;
	int fd;

	if (geteuid()) {
		tap_skip("only root may give a directory away");
		return;
	}
	tmp = make(&small, true, BYTES);
	must(tmp);
	fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(fd >= 0);
	end(&small, tmp);
	close(fd);
}

static void is_plain(bool is_in_memory, uint64_t bytes)
{
	struct small_order small;
	struct stat of_tmp, of_run;
	char *tmp = make(&small, is_in_memory, bytes);

	must(tmp);
	is_int(stat(tmp, &of_tmp), 0);
	is_int(stat(run, &of_run), 0);
	ok(of_tmp.st_dev == of_run.st_dev);
	is_int(of_tmp.st_mode & 07777, 0700);
	is_int(of_tmp.st_uid, USER);
	end(&small, tmp);
}

TAP_TEST(record_make__where_the_administrator_wants_temporary_files)
{
	struct statfs fs;

	if (geteuid() || statfs("/var/tmp", &fs) || fs.f_type == TMPFS_MAGIC) {
		tap_skip("needs root, and /var/tmp on a disk");
		return;
	}
	is_plain(false, BYTES);
}

/* It would be memory that nobody pays for. */
TAP_TEST(record_make__memory_cannot_be_limited)
{
	if (geteuid()) {
		tap_skip("only root may mount");
		return;
	}
	is_plain(true, 0);
}

TAP_TEST(record_remove__with_more_mounted_on_it)
{
	struct small_order small;
	char *tmp;

	if (geteuid()) {
		tap_skip("only root may mount");
		return;
	}
	tmp = make(&small, true, BYTES);
	must(tmp);
	for (int i = 0; i < 2; i++)
		is_int(mount("none", tmp, "tmpfs", 0, NULL), 0);
	end(&small, tmp);
}
