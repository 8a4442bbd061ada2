// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_help - texts of the help file, printed by this process itself: the launcher's way of
 * collecting them loses some when processes are ending, and that is when these are due.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void mtl_pm_help_find(void)
{
	Dl_info info;
	char path[4096];

	if (!dladdr(&mca_mtl_pm_component, &info) || !info.dli_fname ||
	    strlen(info.dli_fname) >= sizeof(path))
		return;
	strcpy(path, info.dli_fname);
	opal_show_help_add_dir(dirname(path));
}

static void say(const char *topic, va_list args)
{
	char *text = opal_show_help_vstring("help-mtl-pm.txt", topic, true, args);

	if (text)
		opal_output(0, "%s", text);
	free(text);
}

void mtl_pm_say(const char *topic, ...)
{
	va_list args;

	va_start(args, topic);
	say(topic, args);
	va_end(args);
}

/*
 * A locked file of the job on this host, empty until one of its ranks has spoken; -1: there is no
 * place.
 */
static int open_told(const char *topic)
{
	char path[4096];
	int fd;

	if (!opal_process_info.job_session_dir ||
	    snprintf(path, sizeof(path), "%s/mtl-pm-%s", opal_process_info.job_session_dir,
		     topic) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX)) {
		if (errno == EINTR)
			continue;
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_told(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_size > 0;
}

/*
 * A rank that fails ends the others at once, so a fixed speaker may be gone before it has spoken.
 * The lock is held while printing: whoever goes on to fail does so after the text is out.
 */
void mtl_pm_say_once(const char *topic, ...)
{
	int fd = open_told(topic);
	va_list args;

	va_start(args, topic);
	if (!is_told(fd)) {
		say(topic, args);
		/*
		 * Without a note, or when a failed rank took the directory away, it is printed
		 * twice.
		 */
		if (fd >= 0 && ftruncate(fd, 1) < 0)
			opal_output_verbose(10, 0, "mtl/pm: %s was told, but not noted", topic);
	}
	va_end(args);
	if (fd >= 0)
		close(fd);
}
