#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""RDMA by libibverbs between two guests with a stock kernel, on each of two rails: messages that are looked at,
writes, and that lost frames are sent again. Nothing here is measured. TAP."""
import sys

from vmtest import BUILD, Rail, Timed, need_guests, need_rdma, pingpong, write_bandwidth
import vmlab
import vmlab.rdma

NICS = ["eth1", "eth2"]
LOSS = 3                        # per cent
tap = Timed()


def counters(guest, rail):
    directory = f"/sys/class/infiniband/{rail.device}/ports/1/hw_counters"
    lines = guest.must(f"cd {directory} && for each in *; do echo $each $(cat $each); done").splitlines()
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}


def test_rail(lab, rail):
    tap.ok(*swapped(f"{rail.device}: ibv_rc_pingpong, 1000 messages each way", pingpong(rail, 1000)))
    tap.ok(*swapped(f"{rail.device}: ibv_rc_pingpong, messages of many frames", pingpong(rail, 30, 65536)))
    before = counters(lab.guests[1], rail)
    tap.ok(*swapped(f"{rail.device}: ib_write_bw", write_bandwidth(rail, 100)))
    frames = counters(lab.guests[1], rail)["rcvd_pkts"] - before["rcvd_pkts"]
    # a frame carries at most 4 KiB
    tap.ok(frames >= 100 * 65536 // 4096, f"{rail.device}: and it is this device that carried it", f"{frames} frames")


def swapped(name, result):
    """Arguments of ok()."""
    return result[0], name, result[1]


def test_loss(lab, rail, nic):
    """A queue that drops a part of what a guest sends: seen by the queue, and got over by RC."""
    client, server = lab.guests
    client.must(f"modprobe sch_netem && tc qdisc add dev {nic} root netem loss {LOSS}%")
    before = counters(client, rail), counters(server, rail)
    tap.ok(*swapped(f"{rail.device}: with {LOSS} % of the frames lost all messages arrive",
                    pingpong(rail, 500, is_lossy=True)))
    dropped = int(client.must(f"tc -s qdisc show dev {nic} | sed -n 's/.*(dropped \\([0-9]*\\),.*/\\1/p'"))
    after = counters(client, rail), counters(server, rail)
    changes = [{name: now[name] - then[name] for name in now if now[name] != then[name]}
               for then, now in zip(before, after)]
    tap.ok(dropped > 0, f"{rail.device}: netem counts them", f"{dropped}")
    names = ("completer_retry_err", "duplicate_request", "out_of_seq_request", "retry_rnr_exceeded_err")
    tap.ok(any(change.get(name) for change in changes for name in names), f"{rail.device}: sent again, as rxe counts",
           f"{changes}")
    client.must(f"tc qdisc del dev {nic} root")


def test_device_gone(lab, rail):
    """A test of the test: without the device the program fails, and that is seen."""
    lab.guests[0].must(f"rdma link del {rail.device}")
    ends = rail.client.run(f"ibv_rc_pingpong -d {rail.device} -g 1 {rail.address}", 20)
    tap.ok(ends[0] != 0 and rail.device in ends[1], f"{rail.device}: taken away, it is missed", f"{ends}")


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS)) as lab:
        why = vmlab.rdma.set_up(lab, NICS)
        tap.ok(not why, f"Linux {lab.kernel.release}: two guests are up, with rxe on each NIC", why)
        if why:
            return tap.end()
        rails = [Rail(lab, number, nic) for number, nic in enumerate(NICS)]
        for rail in rails:
            test_rail(lab, rail)
        test_loss(lab, rails[1], NICS[1])
        test_device_gone(lab, rails[1])
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
