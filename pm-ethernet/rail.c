// SPDX-License-Identifier: BSD-3-Clause
/* rail - the state of an own rail, as the daemon's board and our socket tell it. */
#include "pm-ethernet/device.h"

bool eth_rail_is_gone(const struct eth_dev *d, uint32_t r)
{
	const struct eth_board_rail *rail = &d->board->rails[d->granted.rails[r].host_rail];

	return atomic_load_explicit(&rail->is_gone, memory_order_relaxed) ||
	       (!eth_is_port(d) && d->sockets[r].is_unbound);
}

bool eth_rail_is_up(const struct eth_dev *d, uint32_t r)
{
	const struct eth_board_rail *rail = &d->board->rails[d->granted.rails[r].host_rail];

	return d->sockets[eth_socket_of(d, r)].fd >= 0 &&
	       atomic_load_explicit(&rail->is_up, memory_order_relaxed) && !eth_rail_is_gone(d, r);
}
