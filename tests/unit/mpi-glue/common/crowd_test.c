// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/crowd.h"

#include "tests/harness/tap.h"

TAP_TEST(crowd__threads_that_have_a_core_each)
{
	ok(!crowd_is_crowded(1, 1, 1, 8));
	ok(!crowd_is_crowded(4, 4, 16, 4));
	ok(!crowd_is_crowded(4, 16, 16, 4));
	ok(!crowd_is_crowded(2, 2, 2, 1));
	/* bound to half of the host each */
	ok(!crowd_is_crowded(16, 16, 32, 2));
}

TAP_TEST(crowd__threads_that_share_cores)
{
	ok(crowd_is_crowded(2, 1, 16, 4));
	ok(crowd_is_crowded(5, 4, 16, 4));
	/* ranks that are not bound */
	ok(crowd_is_crowded(2, 2, 2, 2));
	ok(crowd_is_crowded(5, 16, 16, 4));
	ok(crowd_is_crowded(2, 1, 1, 1));
	/* sixteen ranks on each half of the host; on all cores but one */
	ok(crowd_is_crowded(2, 16, 32, 32));
	ok(crowd_is_crowded(2, 15, 16, 16));
}

TAP_TEST(crowd__nothing_is_known)
{
	ok(!crowd_is_crowded(8, 0, 16, 4));
	ok(crowd_is_crowded(8, 4, 0, 4));
}
