# SPDX-License-Identifier: BSD-3-Clause
"""RDMA in guests, by the kernel's own software (rdma_rxe): rxe0, rxe1, ... on their NICs."""
from .trouble import Trouble

NO_MODULE, NO_TOOL = 91, 92
SCRIPT = """
modprobe -n -q rdma_rxe || exit {no_module}
command -v rdma >/dev/null || exit {no_tool}
for module in rdma_rxe ib_uverbs; do modprobe $module || exit; done
modprobe -q rdma_ucm || echo "no rdma_cm" >&2 # which nothing here needs: verbs alone do
number=0
for nic in {nics}; do
    rdma link add rxe$number type rxe netdev $nic || exit
    number=$((number + 1))
done
"""


def set_up(lab, names):
    """A device for each of these NICs of every guest, in this order; '', or why there are none."""
    script = SCRIPT.format(no_module=NO_MODULE, no_tool=NO_TOOL, nics=" ".join(names))
    for task in [guest.start(script) for guest in lab.guests]:
        status, text = task.wait()
        if status == NO_MODULE:
            return f"Linux {lab.kernel.release} as unpacked has no rdma_rxe"
        if status == NO_TOOL:
            return "rdma is not installed (install iproute2)"
        if status:
            raise Trouble(f"guest {task.guest.name}: no RDMA: {text.strip()}")
    return ""


def gid_index(guest, device, address):
    """Of the GID that stands for this IPv4 address, which is RoCE version 2; the order differs among kernels."""
    digits = "".join(f"{int(part):02x}" for part in address.partition("/")[0].split("."))
    wanted = f"0000:0000:0000:0000:0000:ffff:{digits[:4]}:{digits[4:]}"
    port = f"/sys/class/infiniband/{device}/ports/1"
    script = f"cd {port}/gids && for n in {{0..15}}; do [ \"$(cat $n)\" = {wanted} ] && " \
             f"grep -q v2 ../gid_attrs/types/$n && echo $n; done 2>/dev/null; true"
    found = guest.must(script).split()
    if not found:
        raise Trouble(f"guest {guest.name}: {device} has no GID for {address}")
    return int(found[0])
