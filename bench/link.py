#!/usr/bin/env python3
"""Two hosts on this machine, joined by a link of limited speed and of some delay: network namespaces with a tun device
each, between which this program carries the packets.

usage: bench/link.py NAME [--mbit N] [--delay MS]    needs root

Makes the namespaces NAME-a (10.78.0.1) and NAME-b (10.78.0.2), prints "ready", and takes them away when its standard input
ends. --mbit: per direction, 0: as fast as it goes. --delay: one way, in milliseconds. Kernels without netem can have neither otherwise.
"""
import argparse
import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


HOME = os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace):
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")


def host(name, address):
    """A namespace with a tun device; returns the device's file."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    with open(f"/run/netns/{name}") as namespace:
        enter(namespace.fileno())
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TUN | IFF_NO_PI))
    enter(HOME)
    ip = ["ip", "-n", name]
    subprocess.run([*ip, "addr", "add", f"{address}/24", "dev", "wire"], check=True)
    # Packets as large as they come: fewer of them for this program to carry.
    subprocess.run([*ip, "link", "set", "wire", "mtu", "60000", "txqueuelen", "2000", "up"], check=True)
    subprocess.run([*ip, "link", "set", "lo", "up"], check=True)
    return tun


class Direction:
    """Packets on their way from one device to another."""

    MOST = 4 << 20  # bytes that wait; the sender's TCP sees the rest dropped

    def __init__(self, source, sink, mbit, delay):
        self.source, self.sink, self.delay = source, sink, delay
        self.seconds_per_byte = 8e-6 / mbit if mbit else 0.0
        self.line_free, self.waiting, self.bytes = 0.0, collections.deque(), 0

    def take(self, now):
        for _ in range(64):
            try:
                packet = os.read(self.source, 65536)
            except BlockingIOError:
                return
            if self.bytes > self.MOST:
                continue
            self.line_free = max(self.line_free, now) + len(packet) * self.seconds_per_byte
            self.waiting.append((self.line_free + self.delay, packet))
            self.bytes += len(packet)

    def deliver(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            packet = self.waiting.popleft()[1]
            self.bytes -= len(packet)
            try:
                os.write(self.sink, packet)
            except OSError:
                pass


def carry(directions):
    while True:
        now = time.monotonic()
        due = [d.waiting[0][0] for d in directions if d.waiting]
        wait = max(0.0, min(due) - now) if due else None
        ready = select.select([d.source for d in directions] + [sys.stdin], [], [], wait)[0]
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1):
            return
        now = time.monotonic()
        for d in directions:
            if d.source in ready:
                d.take(now)
            d.deliver(now)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("name")
    parser.add_argument("--mbit", type=float, default=0)
    parser.add_argument("--delay", type=float, default=0)
    given = parser.parse_args()
    names = [f"{given.name}-a", f"{given.name}-b"]
    try:
        a, b = (host(name, f"10.78.0.{n + 1}") for n, name in enumerate(names))
        print("ready", flush=True)
        delay = given.delay / 1000
        carry([Direction(a, b, given.mbit, delay), Direction(b, a, given.mbit, delay)])
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


main()
