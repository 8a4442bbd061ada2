// SPDX-License-Identifier: BSD-3-Clause
/* path - connections or datagrams: which of the two devices a job takes that asks for verbs. */
#include "pm-verbs/verbs.h"
#include "pmcore/util/conf.h"

bool pm_verbs_takes_datagrams(const struct conf *conf, uint32_t nodes)
{
	switch (conf->verbs_path) {
	case CONF_PATH_CONNECTED:
		return false;
	case CONF_PATH_DATAGRAM:
		return true;
	case CONF_PATH_AUTO:
		break;
	}
	return nodes > conf->verbs_connected_max;
}
