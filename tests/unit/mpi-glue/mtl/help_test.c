// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_help: what this process prints itself, and that one rank of a host speaks for all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/proc.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

static char directory[] = "/tmp/help_testXXXXXX", path[128];
static char *before; /* the session directory of this process */

/* A session directory, and no rank that has spoken. */
static bool begin(void)
{
	memset(&fake_mpi, 0, sizeof(fake_mpi));
	strcpy(strrchr(directory, 't') + 1, "XXXXXX");
	before = opal_process_info.job_session_dir;
	if (!ok(mkdtemp(directory) != NULL))
		return false;
	opal_process_info.job_session_dir = directory;
	snprintf(path, sizeof(path), "%s/mtl-pm-unusable", directory);
	return true;
}

static void finish(void)
{
	opal_process_info.job_session_dir = before;
	unlink(path);
	is_int(rmdir(directory), 0);
}

/* Another rank of the job says the same. */
static void say_once(void)
{
	mtl_pm_say_once("unusable", "here", "do it", "why");
}

TAP_TEST(say__each_time)
{
	memset(&fake_mpi, 0, sizeof(fake_mpi));
	mtl_pm_say("failed", "here", "do it", 3u, "there", "why");
	mtl_pm_say("failed", "there", "do it", 3u, "here", "why");
	is_str(fake_mpi.said, "failed: here\nfailed: there\n");
}

TAP_TEST(say_once__the_first_rank_speaks)
{
	struct stat st;

	if (!begin())
		return;
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	is_int(stat(path, &st), 0);
	/* The others see that it has. */
	ok(st.st_size > 0);
	is_int(st.st_mode & 0777, 0600);
	say_once();
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	finish();
}

TAP_TEST(say_once__a_rank_that_died_before_it_spoke)
{
	FILE *left;

	if (!begin())
		return;
	left = fopen(path, "w");
	must(left != NULL);
	fclose(left);
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	finish();
}

TAP_TEST(say_once__each_topic_for_itself)
{
	char other[128];

	if (!begin())
		return;
	say_once();
	mtl_pm_say_once("device missing", "here", "note");
	is_str(fake_mpi.said, "unusable: here\ndevice missing: here\n");
	snprintf(other, sizeof(other), "%s/mtl-pm-device missing", directory);
	is_int(unlink(other), 0);
	finish();
}

TAP_TEST(say_once__without_a_place_to_note_it)
{
	memset(&fake_mpi, 0, sizeof(fake_mpi));
	before = opal_process_info.job_session_dir;
	opal_process_info.job_session_dir = NULL;
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	/* A failed rank took the directory away. */
	opal_process_info.job_session_dir = strdup("/nonexistent/directory");
	say_once();
	is_str(fake_mpi.said, "unusable: here\nunusable: here\n");
	free(opal_process_info.job_session_dir);
	opal_process_info.job_session_dir = before;
}

TAP_TEST(say_once__no_link_is_followed)
{
	char target[128];

	if (!begin())
		return;
	snprintf(target, sizeof(target), "%s/target", directory);
	is_int(symlink(target, path), 0);
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	is_int(access(target, F_OK), -1);
	finish();
}

TAP_TEST(say_once__a_directory_with_too_long_a_name)
{
	char *deep = malloc(5000);

	memset(&fake_mpi, 0, sizeof(fake_mpi));
	memset(deep, 'd', 4999);
	deep[4999] = '\0';
	before = opal_process_info.job_session_dir;
	opal_process_info.job_session_dir = deep;
	say_once();
	is_str(fake_mpi.said, "unusable: here\n");
	opal_process_info.job_session_dir = before;
	free(deep);
}
