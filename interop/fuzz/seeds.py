"""Small sound archives for the fuzzer to begin with: every kind of header that the grammars know."""
import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile

WHERE = sys.argv[1]


def member(name, kind=tarfile.REGTYPE, content=b"", link="", **pax):
    it = tarfile.TarInfo(name)
    it.type, it.size, it.linkname, it.pax_headers = kind, len(content), link, pax
    return it, io.BytesIO(content)


MEMBERS = [
    member("d", tarfile.DIRTYPE), member("d/a", content=b"content"), member("d/" + "long/" * 30 + "name", content=b"x"),
    member("l", tarfile.SYMTYPE, link="d/a"), member("h", tarfile.LNKTYPE, link="d/a"), member("e"),
    member("t" * 120, tarfile.SYMTYPE, link="d/" + "t" * 120), member("p", tarfile.FIFOTYPE),
]


def tar(kind, members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for it, content in members:
            content.seek(0)
            archive.addfile(it, content)
    used = out.getvalue().rstrip(b"\0")
    return used + bytes(-len(used) % 512 + 1024)


def zipped(method, streamed):
    class Pipe(io.BytesIO):
        def seekable(self):
            return not streamed

        def seek(self, *args):
            if streamed:
                raise io.UnsupportedOperation
            return super().seek(*args)

    out = Pipe()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("d/", b"")
        archive.writestr("d/a", b"content " * 20)
        link = zipfile.ZipInfo("l")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, b"d/a")
        with archive.open("big", "w", force_zip64=True) as file:
            file.write(b"x" * 50)
    return out.getvalue()


def main():
    seeds = {"tar": {}, "zip": {}}
    for name, kind in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        fit = [it for it in MEMBERS if kind != tarfile.USTAR_FORMAT or len(it[0].name) < 100]
        seeds["tar"][name] = tar(kind, fit)
    for name, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        seeds["tar"][name] = pack(seeds["tar"]["ustar"])
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for streamed in (False, True):
            seeds["zip"][f"{method}-{streamed}"] = zipped(method, streamed)
    for group, found in seeds.items():
        os.makedirs(f"{WHERE}/{group}")
        for name, content in found.items():
            with open(f"{WHERE}/{group}/{name}", "wb") as file:
                file.write(content)


main()
