/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream - a link that carries long reads and nothing else, by TCP connections beside a network
 * device. The kernel cuts and joins a byte stream without a header for each packet, and copies the
 * data once at each side, out of the program's memory and into it. Datagrams are copied once more
 * there, and looked at one by one.
 *
 * A read that can't be had this way fails with -ENETUNREACH, and may then be made by the device
 * that reaches the node (device/bulk.c): the link only ever makes reads faster. Nothing of it is
 * saved with a context.
 */
#ifndef PM_UDP_STREAM_STREAM_H
#define PM_UDP_STREAM_STREAM_H

#include "pm_device.h"

/*
 * read(): also -EHOSTUNREACH, there is no open connection (now). rma_done(): also -ENETUNREACH, it
 * broke; nothing touches the memory any more.
 */
extern const struct pm_link_ops pm_stream_ops;

#endif
