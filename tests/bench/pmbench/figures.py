# SPDX-License-Identifier: BSD-3-Clause
"""All figures by name."""
import dataclasses

from . import (btl, collectives, eth, eth_cpu, eth_trunk, flood, floor, gang, hxb, hxb_agree, hxb_compile,
               hxb_neighbour, hxb_relay, launch, output, rma, scout, shapes, shmem, sizes, udp, verbs_cpu,
               verbs_hpcc, verbs_peers, verbs_vm, waiting)
from .apps import figures as apps
from .figure import Figure, Goal


def indifferent(*modules) -> list[Figure]:
    """The figures of these modules do not depend on the time of a cache line between two cores: counts, launch times,
    limited links, virtual machines, work of one core."""
    return [dataclasses.replace(f, is_indifferent=True) for module in modules for f in module.FIGURES]


ALL: dict[str, Goal] = {f.name: f for f in [
    *shmem.FIGURES, *udp.FIGURES, *eth.FIGURES, *sizes.FIGURES, *floor.FIGURES, *shapes.FIGURES, *collectives.FIGURES,
    *rma.FIGURES, *btl.FIGURES,
    *waiting.FIGURES, *eth_trunk.FIGURES, *indifferent(eth_cpu, flood, launch, output, scout, gang), *hxb.FIGURES,
    *indifferent(hxb_neighbour, hxb_relay, hxb_compile, hxb_agree, verbs_cpu, verbs_peers, verbs_hpcc, verbs_vm),
    *apps.FIGURES]}
