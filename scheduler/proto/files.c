// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/files.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/daemon.h"

#define SAY_AGAIN_S 60

unsigned long long files_limit(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) ? INT_MAX : files.rlim_cur;
}

unsigned long long files_raise(void)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return files_limit();
}

const char *files_remedy(int error, const char *otherwise)
{
	if (error == EMFILE)
		return "raise the limit of open files (ulimit -n, LimitNOFILE= of a daemon)";
	if (error == ENFILE)
		return "raise fs.file-max of that host, see proc(5)";
	return otherwise;
}

void files_say(int error)
{
	static double said;
	const char *remedy = files_remedy(error, NULL);
	double now = clock_monotonic_s();

	if (!remedy || (said > 0 && now - said < SAY_AGAIN_S))
		return;
	said = now;
	daemon_say("descriptors are short, of which there are %llu: connections that have not said "
		   "who they are, or what they want, go first; %s",
		   files_limit(), remedy);
}

bool files_full(size_t n, size_t max)
{
	unsigned long long part = files_limit() / FILES_PARTS;

	if (n < part && n < max)
		return false;
	if (part < max)
		files_say(EMFILE);
	return true;
}
