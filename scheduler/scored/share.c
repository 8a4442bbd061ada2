// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/share.h"

#define PART 4       /* of the places are left free by those who have jobs */
#define FIRST_PART 8 /* the same of those who have none */

size_t share_reserve(size_t places, size_t own)
{
	size_t part = own ? PART : FIRST_PART;

	return (places + part - 1) / part;
}

bool share_allows(size_t places, size_t own, size_t all)
{
	size_t left = places > all ? places - all - 1 : 0;

	return left >= share_reserve(places, own) && left > own;
}
