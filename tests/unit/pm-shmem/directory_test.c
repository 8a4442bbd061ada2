// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "pm-shmem/liveness.h"
#include "tests/unit/pm-shmem/links.h"

static char why[256];

static void job_path(char path[160], uint64_t job)
{
	snprintf(path, 160, "%s/openscore.%u.%016llx", links_dir, (unsigned int)geteuid(),
		 (unsigned long long)pms_job_hash(job, 0));
}

static bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

TAP_TEST(job_hash__is_siphash)
{
	/*
	 * of bytes 0..7 under key bytes 0..7 and eight zeros; from an implementation in another
	 * language that gives the paper's vector
	 */
	ok(pms_job_hash(1, 0) != pms_job_hash(2, 0));
	ok(pms_job_hash(1, 0) != pms_job_hash(1, 1));
	is_int(pms_job_hash(0x0706050403020100ull, 0x0706050403020100ull), 0xeb8e9b0661a15490ull);
}

TAP_TEST(directory_open__makes_it_private)
{
	struct pms_directory dir;
	struct stat st;
	char path[160];

	links_begin();
	must(is_int(pms_directory_open(links_dir, 5, &dir, why, sizeof(why)), 0));
	job_path(path, 5);
	is_int(lstat(path, &st), 0);
	is_int(st.st_mode & 07777, 0700);
	is_int(fstat(dir.file, &st), 0);
	is_int(st.st_mode & 07777, 0600);
	pms_directory_remove(&dir);
	pms_directory_close(&dir);
	links_end();
}

TAP_TEST(directory_open__symbolic_link_is_refused)
{
	struct pms_directory dir;
	char path[160];

	links_begin();
	job_path(path, 5);
	must(is_int(symlink("/tmp", path), 0));
	is_int(pms_directory_open(links_dir, 5, &dir, why, sizeof(why)), -EPERM);
	ok(strstr(why, path));
	unlink(path);
	links_end();
}

TAP_TEST(directory_open__segment_as_symbolic_link_is_refused)
{
	struct pms_directory dir;
	char path[160], name[200];

	links_begin();
	job_path(path, 5);
	must(is_int(mkdir(path, 0700), 0));
	snprintf(name, sizeof(name), "%s/segment", path);
	must(is_int(symlink("/etc/passwd", name), 0));
	is_int(pms_directory_open(links_dir, 5, &dir, why, sizeof(why)), -EPERM);
	unlink(name);
	rmdir(path);
	links_end();
}

TAP_TEST(directory_open__others_may_not_enter)
{
	struct pms_directory dir;
	char path[160];

	links_begin();
	job_path(path, 5);
	must(is_int(mkdir(path, 0700), 0));
	must(is_int(chmod(path, 0755), 0));
	is_int(pms_directory_open(links_dir, 5, &dir, why, sizeof(why)), -EPERM);
	rmdir(path);
	links_end();
}

TAP_TEST(directory_open__foreign_owner_is_refused)
{
	struct pms_directory dir;
	char path[160];

	if (geteuid() != 0) {
		tap_skip("needs root to give a directory away");
		return;
	}
	links_begin();
	job_path(path, 5);
	must(is_int(mkdir(path, 0700), 0));
	must(is_int(chown(path, 12345, 12345), 0));
	is_int(pms_directory_open(links_dir, 5, &dir, why, sizeof(why)), -EPERM);
	rmdir(path);
	links_end();
}

TAP_TEST(directory_open__absent_parent)
{
	struct pms_directory dir;

	is_int(pms_directory_open("/nowhere/at/all", 5, &dir, why, sizeof(why)), -ENOENT);
	ok(strstr(why, "shmem.dir=/nowhere/at/all"));
}

TAP_TEST(directory_sweep__leaves_only_the_living)
{
	struct pms_directory dead, live, own;
	char dead_path[160], live_path[160], empty_path[160], fifo[200];

	links_begin();
	job_path(dead_path, 1);
	job_path(live_path, 2);
	job_path(empty_path, 3);
	must(is_int(pms_directory_open(links_dir, 1, &dead, why, sizeof(why)), 0));
	snprintf(fifo, sizeof(fifo), "%s/wake.7", dead_path);
	is_int(mkfifo(fifo, 0600), 0);
	pms_directory_close(&dead);
	must(is_int(pms_directory_open(links_dir, 2, &live, why, sizeof(why)), 0));
	is_int(pms_slot_lock(live.file, 3), 0);
	pms_unlock(live.file);
	is_int(mkdir(empty_path, 0700), 0);
	must(is_int(pms_directory_open(links_dir, 4, &own, why, sizeof(why)), 0));
	pms_directory_sweep(&own);
	ok(!exists(dead_path));
	ok(exists(live_path));
	ok(!exists(empty_path));
	pms_directory_remove(&live);
	pms_directory_close(&live);
	pms_directory_remove(&own);
	pms_directory_close(&own);
	links_end();
}
