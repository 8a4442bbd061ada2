# SPDX-License-Identifier: BSD-3-Clause
"""All figures by name."""
from . import (eth, eth_cpu, eth_trunk, gang, hxb, hxb_agree, hxb_compile, hxb_neighbour, hxb_relay, launch, scout,
               shmem, udp, verbs_cpu, verbs_hpcc, verbs_peers, verbs_vm)

ALL = {f.name: f for f in [*shmem.FIGURES, *udp.FIGURES, *eth.FIGURES, *eth_trunk.FIGURES,
                            *eth_cpu.FIGURES, *launch.FIGURES, *scout.FIGURES, *gang.FIGURES, *hxb.FIGURES,
                            *hxb_neighbour.FIGURES,
                            *hxb_relay.FIGURES, *hxb_compile.FIGURES, *hxb_agree.FIGURES,
                            *verbs_cpu.FIGURES, *verbs_peers.FIGURES, *verbs_hpcc.FIGURES,
                            *verbs_vm.FIGURES]}
