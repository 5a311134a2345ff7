"""A client of the Handfast broker. One file, standard library only, Python 3.9 or later, Linux.

    import handfast

    with handfast.Broker() as broker:
        with broker.lease(["src/**"], ["read", "commit"], ttl=600, purpose="tidy up") as lease:
            with lease.open("src/a.txt") as file:
                text = file.read()
            lease.write("src/a.txt", text.upper())

A lease is bound to this process unless asked otherwise: when the process ends, it is gone. Files
come as descriptors that the broker opened; nothing is looked up again here. Writes go to a private
file and become visible when they are committed, all at once or not at all.
"""

import array
import base64
import json
import os
import socket

__all__ = ["Broker", "Lease", "Draft", "Refused", "Stale", "default_socket"]

INTERFACE = "io.handfast.Broker."
MAX_MESSAGE = 256 * 1024
MAX_DESCRIPTORS = 4


class Refused(Exception):
    """The broker said no. `name` is the error's name, `kind` how a file operation failed."""

    def __init__(self, name, parameters):
        self.name = name.rsplit(".", 1)[-1]
        self.parameters = parameters
        self.kind = parameters.get("kind")
        self.why = parameters.get("why") or name
        super().__init__(self.why)


class Stale(Refused):
    """The object is not the one, or not in the state, that was seen; `differs` says what."""

    @property
    def differs(self):
        return self.parameters.get("differs")


def default_socket():
    """Where the broker listens: $HANDFAST_SOCKET, or the user's own place."""
    path = os.environ.get("HANDFAST_SOCKET")
    if path:
        return path
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not runtime:
        runtime = "/run/user/%d" % os.geteuid()
        if not os.path.isdir(runtime):
            runtime = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(runtime, "handfast", "broker.sock")


def _named(key, value):
    """A path or name as parameter: text, or base64 where it is no UTF-8."""
    raw = os.fsencode(value)
    try:
        return {key: raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {key + "_b64": base64.b64encode(raw).decode("ascii")}


def _bytes_of(entry, key):
    if key in entry:
        return entry[key].encode("utf-8")
    return base64.b64decode(entry[key + "_b64"])


class Broker:
    """A connection. One call at a time; not for several threads at once."""

    def __init__(self, path=None, timeout=60):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._ahead = b""
        self._fds = []
        try:
            self._socket.connect(path or default_socket())
        except BaseException:
            self._socket.close()
            raise

    def close(self):
        self._socket.close()
        self._drop_descriptors()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def call(self, method, parameters=None, fds=()):
        """Calls a method; gives its answer and the descriptors that came with it."""
        self._ask(method, parameters, fds, more=False)
        answer, came, _ = self._answer()
        return answer, came

    def call_more(self, method, parameters=None):
        """Calls a method that answers in parts."""
        self._ask(method, parameters, (), more=True)
        while True:
            answer, came, more = self._answer()
            _close(came)
            yield answer
            if not more:
                return

    def info(self):
        """What the broker serves, and how strong its boundary is."""
        return self._plain("Info")

    def identify(self, svid):
        """Proves a SPIFFE id by a JWT-SVID, for this connection; gives the id."""
        return self._plain("Identify", {"svid": svid})["spiffe_id"]

    def lease(self, paths, verbs, **terms):
        """Asks for a lease. Terms: ttl (seconds), purpose, task, max_opens, bind, parent (an id)."""
        terms = {key: value for key, value in terms.items() if value is not None}
        answer = self._plain("Acquire", dict(terms, paths=list(paths), verbs=list(verbs)))
        return Lease(self, answer["lease_id"], answer["lease"])

    def use(self, lease_id=None):
        """A lease that somebody else acquired: by its id or a token, or from $HANDFAST_LEASE."""
        return Lease(self, lease_id or os.environ["HANDFAST_LEASE"], None)

    def list(self, prefix=""):
        """Leases below a prefix, as the broker shows them."""
        after = {}
        while True:
            page = self._plain("List", dict(after, prefix=prefix))
            yield from page["leases"]
            if page["end"] or not page["leases"]:
                return
            after = {"after": page["leases"][-1]["handle"]}

    def revoke_prefix(self, prefix):
        """Ends all leases below a prefix; gives what may still be open."""
        return self._plain("RevokePrefix", {"prefix": prefix})["outstanding"]

    def _plain(self, method, parameters=None):
        answer, came = self.call(method, parameters)
        _close(came)
        return answer

    def _ask(self, method, parameters, fds, more):
        if "." not in method:
            method = INTERFACE + method
        call = {"method": method, "parameters": parameters or {}}
        if more:
            call["more"] = True
        message = json.dumps(call).encode("utf-8") + b"\0"
        beside = []
        if fds:
            beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        # Descriptors go with the first byte.
        sent = self._socket.sendmsg([message], beside)
        if sent < len(message):
            self._socket.sendall(message[sent:])

    def _answer(self):
        while b"\0" not in self._ahead:
            if len(self._ahead) > 4 * MAX_MESSAGE:
                raise ConnectionError("the broker's answer is too long")
            self._receive()
        message, self._ahead = self._ahead.split(b"\0", 1)
        came, self._fds = self._fds, []
        reply = json.loads(message)
        parameters = reply.get("parameters") or {}
        if "error" in reply:
            _close(came)
            kind = Stale if reply["error"] == INTERFACE + "Stale" else Refused
            raise kind(reply["error"], parameters)
        return parameters, came, reply.get("continues", False)

    def _receive(self):
        room = socket.CMSG_LEN(MAX_DESCRIPTORS * array.array("i").itemsize)
        # Close-on-exec from the start: a child that is started meanwhile inherits nothing.
        data, beside, flags, _ = self._socket.recvmsg(65536, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, raw in beside:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
                self._fds.extend(fds)
        if flags & socket.MSG_CTRUNC:
            self._drop_descriptors()
            raise ConnectionError("more descriptors than anybody asked for")
        if not data:
            raise ConnectionError("the broker has closed the connection")
        self._ahead += data

    def _drop_descriptors(self):
        came, self._fds = self._fds, []
        _close(came)


class Lease:
    """A lease. Leaving its `with` block gives it back."""

    def __init__(self, broker, lease_id, shown):
        self._broker = broker
        self.id = lease_id
        self.shown = shown

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        try:
            self.revoke()
        except (Refused, OSError):
            pass  # it has ended by itself, and nothing is lost

    def __repr__(self):
        # The id is a key: it does not belong into tracebacks.
        return "<Lease %s>" % (self.shown["handle"] if self.shown else "by id")

    def _call(self, method, *named, **more):
        parameters = {"lease": self.id}
        for part in named:
            parameters.update(part)
        parameters.update((key, value) for key, value in more.items() if value is not None)
        return self._broker.call(method, parameters)

    def _plain(self, method, *named, **more):
        answer, came = self._call(method, *named, **more)
        _close(came)
        return answer

    def renew(self, seconds=None):
        """Makes it longer, counted from now; gives the seconds that are left."""
        return self._plain("Renew", increment=seconds)["lease"]["ttl"]

    def lookup(self):
        return self._plain("Lookup")["lease"]

    def revoke(self):
        """Ends it; gives what may still be open."""
        return self._plain("Revoke")["outstanding"]

    def open(self, path, version=False):
        """Opens a file for reading. The file has `handle`, and `version` if that was asked for."""
        return self._opened(*self._call("Open", _named("path", path), version=version or None))

    def resume(self, path, handle, version):
        """Opens a file again, if it is still what was seen; `Stale` if not."""
        named = _named("path", path)
        return self._opened(*self._call("Resume", named, handle=handle, version=version))

    def read(self, path):
        with self.open(path) as file:
            return file.read()

    def begin(self, path, max_size, version=None, new=None):
        """Begins a file that nobody sees until it is committed."""
        answer, came = self._call(
            "Begin", _named("path", path), max_size=str(max_size), version=version, new=new
        )
        return Draft(self, answer["draft"], _take(came, answer["fd"]))

    def write(self, path, data, version=None, new=None):
        """Begins, fills and commits; gives the new version."""
        draft = self.begin(path, len(data), version, new)
        with draft:
            draft.write(data)
            return draft.commit()

    def append(self, path, data):
        self._plain("Append", _named("path", path), data_b64=base64.b64encode(data).decode("ascii"))

    def mkdir(self, path, parents=False):
        self._plain("Mkdir", _named("path", path), parents=parents)

    def rename(self, path, to, mode="no-replace"):
        self._plain("Rename", _named("path", path), _named("to", to), mode=mode)

    def remove(self, path, kind="file", version=None):
        self._plain("Remove", _named("path", path), kind=kind, version=version)

    def stat(self, path):
        return self._plain("Stat", _named("path", path))

    def list_dir(self, path=""):
        """Pairs of name (bytes) and kind."""
        after = {}
        while True:
            page = self._plain("ListDir", _named("path", path), after)
            for entry in page["entries"]:
                yield _bytes_of(entry, "name"), entry["kind"]
            if page["end"] or not page["entries"]:
                return
            after = _named("after", _bytes_of(page["entries"][-1], "name"))

    def walk(self, path="/"):
        """Pairs of path below the top (bytes) and kind."""
        for page in self._broker.call_more("Walk", dict(_named("path", path), lease=self.id)):
            for entry in page["entries"]:
                yield _bytes_of(entry, "name"), entry["kind"]

    def _opened(self, answer, came):
        file = _File(_take(came, answer["fd"]))
        file.handle = answer["handle"]
        file.version = answer.get("version")
        return file


class Draft:
    """A private file. Leaving its `with` block without a commit drops it."""

    def __init__(self, lease, name, fd):
        self._lease = lease
        self._name = name
        self._fd = fd
        self._size = 0
        self._open = True

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        if self._open:
            try:
                self.abort()
            except (Refused, OSError):
                pass  # it was dropped with its lease
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def write(self, data):
        view = memoryview(data)
        while view:
            done = os.pwrite(self._fd, view, self._size)
            self._size += done
            view = view[done:]

    def commit(self):
        """Makes it visible; gives the new version."""
        self._open = False
        answer = self._lease._plain("Commit", draft=self._name, size=str(self._size))
        return answer.get("version")

    def abort(self):
        self._open = False
        self._lease._plain("Abort", draft=self._name)


class _File:
    """A binary file that was opened by the broker."""

    def __init__(self, fd):
        self._file = os.fdopen(fd, "rb")

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._file.close()

    def __iter__(self):
        return iter(self._file)


def _take(came, index):
    if not 0 <= index < len(came):
        _close(came)
        raise ConnectionError("the broker sent no descriptor")
    _close(fd for at, fd in enumerate(came) if at != index)
    return came[index]


def _close(fds):
    for fd in fds:
        os.close(fd)
