/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp - the packet device that works anywhere without privilege: each local IPv4 interface is a
 * rail. Options: udp.rails, udp.mtu, udp.gso, udp.port (see conf.h).
 */
#ifndef PM_UDP_UDP_H
#define PM_UDP_UDP_H

#include "pm_device.h"

extern const struct pm_packet_ops pm_udp_ops;

#endif
