"""Tests of the client against a running broker: HANDFAST_SOCKET says where, HANDFAST_ROOT what it
serves (a tree with src/a.txt, src/b.txt, top.txt and .env). `cargo test` runs them so."""

import fcntl
import os
import socket
import subprocess
import sys
import time
import unittest

import handfast

ROOT = os.environ["HANDFAST_ROOT"]


def on_disk(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


class Leases(unittest.TestCase):
    def setUp(self):
        self.broker = handfast.Broker()
        self.addCleanup(self.broker.close)

    def refused(self, name, act, *arguments, **more):
        with self.assertRaises(handfast.Refused) as caught:
            act(*arguments, **more)
        self.assertEqual(caught.exception.name, name)
        return caught.exception

    def test_lease_open_commit_revoke(self):
        with self.broker.lease(["src/**"], ["read", "commit"], purpose="test") as lease:
            with lease.open("src/b.txt") as file:
                self.assertEqual(file.read(), b"beta")
                flags = fcntl.fcntl(file.fileno(), fcntl.F_GETFD)
                self.assertTrue(flags & fcntl.FD_CLOEXEC)
            version = lease.write("src/python.txt", b"by python")
            self.assertEqual(on_disk("src/python.txt"), b"by python")
            self.assertEqual(lease.stat("src/python.txt")["version"], version)
            self.refused("Denied", lease.open, "top.txt")
            self.refused("Denied", lease.remove, "src/b.txt")
            self.assertNotIn(lease.id, repr(lease))
        self.refused("LeaseRevoked", lease.open, "src/b.txt")

    def test_draft_is_private_until_committed(self):
        with self.broker.lease(["**"], ["read", "write"]) as lease:
            with lease.begin("draft.txt", 100) as draft:
                draft.write(b"one ")
                self.assertFalse(os.path.exists(os.path.join(ROOT, "draft.txt")))
                draft.write(b"two")
                draft.commit()
            self.assertEqual(on_disk("draft.txt"), b"one two")
            with lease.begin("never.txt", 10) as draft:
                draft.write(b"never")
            self.assertFalse(os.path.exists(os.path.join(ROOT, "never.txt")))
            with self.assertRaises(OSError):
                with lease.begin("small.txt", 3) as draft:
                    draft.write(b"larger")

    def test_versions(self):
        with self.broker.lease(["**"], ["read", "write"]) as lease:
            lease.write("v.txt", b"first")
            seen = lease.open("v.txt", version=True)
            lease.resume("v.txt", seen.handle, seen.version).close()
            lease.write("v.txt", b"second", version=seen.version)
            stale = self.refused("Stale", lease.write, "v.txt", b"third", version=seen.version)
            self.assertIsInstance(stale, handfast.Stale)
            again = self.refused("Stale", lease.resume, "v.txt", seen.handle, seen.version)
            self.assertEqual(again.differs, "object")
            seen.close()
            self.assertEqual(on_disk("v.txt"), b"second")

    def test_names(self):
        with self.broker.lease(["py/**", "/py"], ["read", "write"]) as lease:
            lease.mkdir("py/deep", parents=True)
            odd = b"py/odd\xff\n"
            lease.write(odd, b"odd")
            self.assertEqual(lease.read(odd), b"odd")
            lease.append(odd, b"+")
            lease.rename(odd, "py/even")
            self.assertEqual(on_disk("py/even"), b"odd+")
            self.assertEqual(list(lease.list_dir("py")), [(b"deep", "dir"), (b"even", "file")])
            self.assertEqual(sorted(lease.walk("py")), [(b"deep", "dir"), (b"even", "file")])
            lease.remove("py", kind="tree")
            self.assertFalse(os.path.exists(os.path.join(ROOT, "py")))

    def test_renew_expire_and_children(self):
        lease = self.broker.lease(["**"], ["read"], ttl=1)
        self.assertGreater(lease.renew(60), 30)
        child = self.broker.lease(["src/**"], ["read"], parent=lease.id)
        child.read("src/b.txt")
        self.refused("Denied", child.read, "top.txt")
        short = self.broker.lease(["**"], ["read"], ttl=1)
        time.sleep(1.1)
        self.refused("LeaseExpired", short.read, "top.txt")
        lease.revoke()
        self.refused("LeaseRevoked", child.read, "src/b.txt")

    def test_a_lease_of_this_process_is_of_no_use_to_another(self):
        lease = self.broker.lease(["**"], ["read"])
        program = (
            "import handfast\n"
            "try:\n"
            "    handfast.Broker().use().read('top.txt')\n"
            "except handfast.Refused as refused:\n"
            "    print(refused.name)\n"
        )
        env = dict(os.environ, HANDFAST_LEASE=lease.id, PYTHONPATH=os.path.dirname(__file__))
        out = subprocess.run(
            [sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, check=True
        )
        self.assertEqual(out.stdout.strip(), b"NoSuchLease")

    def test_protected_and_outside(self):
        with self.broker.lease(["**"], ["read", "write"]) as lease:
            self.refused("Denied", lease.read, ".env")
            self.assertEqual(self.refused("Failed", lease.read, "../x").kind, "NotFound")

    def test_a_broker_without_a_trust_bundle_takes_no_proof(self):
        self.assertEqual(self.refused("Failed", self.broker.identify, "a.b.c").kind, "Unsupported")

    def test_a_broker_that_is_not_there(self):
        with self.assertRaises(OSError):
            handfast.Broker(os.path.join(ROOT, "no", "socket"))

    def test_nonsense_from_the_other_side(self):
        ours, theirs = socket.socketpair()
        broker = handfast.Broker.__new__(handfast.Broker)
        broker._socket, broker._ahead, broker._fds = ours, b"", []
        theirs.sendall(b"not json\0")
        with self.assertRaises(ValueError):
            broker.info()
        theirs.close()
        with self.assertRaises(OSError):
            broker.info()
        broker.close()


if __name__ == "__main__":
    unittest.main()
