// SPDX-License-Identifier: BSD-3-Clause
/* share: what is divided among the active peers. */
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(share_out__divides_the_buffers)
{
	struct rig *rig = rig_init();
	struct chan_peer *peer[40];
	uint32_t i;

	rig->config.rx_buffers = 32;
	rig_open(rig);
	is_int(rig->chan->share, 16); /* the window bounds it */
	for (i = 0; i < 40; i++)
		is_int(chan_peer_add(rig->chan, 10 + i, NULL, 1, RIG_MTU, &peer[i]), 0);
	for (i = 0; i < 4; i++)
		ok(peer_attach(rig->chan, peer[i]) != NULL);
	is_int(rig->chan->share, 8);
	for (; i < 40; i++)
		ok(peer_attach(rig->chan, peer[i]) != NULL);
	is_int(rig->chan->share, 2); /* never less */
	rig_close(rig);
}
