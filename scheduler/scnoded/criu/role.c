// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/role.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/criu/pack.h"
#include "scheduler/scnoded/criu/restore.h"
#include "scheduler/scnoded/init.h"

bool role_play(int argc, char **argv, int *ret_code)
{
	/* CRIU gives its script the whole path as the first word. */
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";

	if (argc == 3 && !strcmp(name, INIT_NAME))
		*ret_code = init_serve(atoi(argv[1]), atoi(argv[2]));
	else if (!strcmp(name, RESTORE_NAME))
		*ret_code = restore_main();
	else if (!strcmp(name, PACK_NAME))
		*ret_code = pack_main();
	else
		return false;
	return true;
}
