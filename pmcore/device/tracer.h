/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tracer - records what passes: an interposer that stacks on any packet device and writes every
 * packet with its time and direction to a pcapng file, which tshark and tcpdump open. Option
 * "trace=PATH"; each node writes PATH.NODE.pcapng. Packets get an Ethernet header with EtherType
 * 0x88B5 (that of pm-ethernet) and the node numbers as locally administered MAC addresses
 * 02:00:NODE; a rail is an interface.
 */
#ifndef PM_DEVICE_TRACER_H
#define PM_DEVICE_TRACER_H

#include "pm_device.h"

extern const struct pm_packet_ops pm_tracer_ops;

#endif
