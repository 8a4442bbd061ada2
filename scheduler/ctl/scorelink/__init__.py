# SPDX-License-Identifier: BSD-3-Clause
"""scorelink - the connections of the scheduler's daemons (scheduler/proto/link.h), for commands in Python: messages as
bytes, the handshake, the seal. A loop of one's own gives them a socket, or link.py does, which waits."""
