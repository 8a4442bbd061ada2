# SPDX-License-Identifier: BSD-3-Clause
"""doors - who listens on the hosts: asks all at once, without privilege and without a credential. A scnoded greets
whoever says the preamble (scheduler/proto/link.h); one that hangs takes the connection and says nothing."""

import asyncio
import os
import socket
import time
from dataclasses import dataclass

from scorelink import frames

# The states of a door.
ANSWERS = "answers"
REFUSED = "refused"         # the host lives, nobody listens
MUTE = "mute"               # connected, and not a word
STRANGER = "stranger"       # somebody else listens
SILENT = "silent"           # nothing comes back
NAMELESS = "nameless"       # no address for the name

_BEST_FIRST = (ANSWERS, MUTE, STRANGER, REFUSED, SILENT, NAMELESS)
_AT_ONCE = 4096
_PAUSE_S = 1.0


@dataclass(frozen=True)
class Door:
    """state: one of the words above; text: what the system says, for people."""
    state: str
    text: str = ""


async def _greeting(reader, writer):
    """Reads the first message of the listener; raises Broken when it isn't a scnoded's."""
    writer.write(frames.preamble())
    decoder, message = frames.Decoder(), None
    decoder.expect(b"")
    while not message:
        data = await reader.read(_AT_ONCE)
        if not data:
            raise EOFError
        decoder.feed(data)
        message = decoder.message()
    if message[0]["op"] != "hello":
        raise frames.Broken("no hello")


async def _greeted(address, port, limit):
    """Door behind one address."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(address, port), limit)
    except asyncio.TimeoutError:
        return Door(SILENT, f"no answer within {limit:g} s")
    except ConnectionRefusedError:
        return Door(REFUSED)
    except OSError as problem:
        return Door(SILENT, os.strerror(problem.errno) if problem.errno else str(problem))
    try:
        await asyncio.wait_for(_greeting(reader, writer), limit)
        return Door(ANSWERS)
    except asyncio.TimeoutError:
        return Door(MUTE, f"not a word within {limit:g} s")
    except frames.Broken:
        return Door(STRANGER, "it speaks something else")
    except (OSError, EOFError):
        return Door(STRANGER, "it closes the connection")
    finally:
        writer.transport.abort()


async def _enter(name, port, limit):
    """The best Door of all addresses that the name has."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        return Door(NAMELESS, problem.strerror or str(problem))
    doors = [await _greeted(address, port, limit) for address in dict.fromkeys(info[4][0] for info in found)]
    return min(doors, key=lambda door: _BEST_FIRST.index(door.state))


async def _once(places, limit, at_once):
    room = asyncio.Semaphore(at_once)

    async def one(place):
        async with room:
            return await _enter(*place, limit)
    found = await asyncio.gather(*(one(place) for place in places.values()))
    return dict(zip(places, found))


def knock(places, limit, at_once):
    """{host: Door} of {host: (address, port)}; limit: seconds a host has for each word, at_once: connections."""
    return asyncio.run(_once(places, limit, at_once))


def knock_again(places, limit, at_once, retries, ask=knock, pause=time.sleep):
    """The same; hosts that are silent are asked again, so many times. retries None: until all answer."""
    found = ask(places, limit, at_once)
    tried = 0
    while retries is None or tried < retries:
        worth = (SILENT,) if retries is not None else (SILENT, REFUSED, MUTE, STRANGER, NAMELESS)
        left = {host: place for host, place in places.items() if found[host].state in worth}
        if not left:
            break
        pause(_PAUSE_S)
        tried += 1
        found |= ask(left, limit, at_once)
    return found
