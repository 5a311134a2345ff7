"""The script of calls that both servers answer, on the same tree under the same path."""

import os
import random


def build(top):
    """Makes the tree; both servers get the same one."""
    os.makedirs(top)

    def put(path, content, mode=0o644):
        path = os.path.join(top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)

    put("five.txt", "one\ntwo\nthree\nfour\nfive\n")
    put("no-end.txt", "a\nb")
    put("empty.txt", "")
    put("crlf.txt", "a\r\nb\r\nc\r\n")
    put("latin.txt", b"caf\xe9\n")
    put("unicode.txt", "naïve 😀\n")
    put("exec.sh", "#!/bin/sh\necho hi\n", 0o755)
    put("private.txt", "secret plan\n", 0o600)
    put("edit.txt", "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\niota\nkappa\n")
    put("code.py", "def f():\n    if x:\n        return 1\n    return 2\n")
    put("fence.md", "```\ncode\n```\n")
    put("twice.txt", "same\nsame\n")
    put("pixel.png", b"\x89PNG\r\n\x1a\n")
    put("sound.MP3", b"ID3\x04")
    put("drawing.svg", "<svg/>")
    put("data.bin", bytes(range(256)))
    put("odd name#%?.bin", b"x")
    put("src/main.rs", "fn main() {}\n")
    put("src/lib.rs", "// lib\n")
    put("src/deep/inner.rs", "// inner\n")
    put("src/deep/deeper/core.rs", "// core\n")
    put("src/.hidden", "h")
    put("docs/a.md", "# A\n")
    put("docs/b.txt", "b\n")
    put("many/B", "x" * 1)
    put("many/a", "x" * 2000)
    put("many/C", "x" * 1500000)
    put("many/b9", "x" * 9)
    put("many/b10", "x" * 10)
    put("many/.dot", "x" * 100)
    put("many/_u", "")
    put("many/-d", "")
    put("many/sub/x", "")
    put("many/a name that is much longer than thirty characters.txt", "y")
    os.makedirs(os.path.join(top, "void"))
    os.symlink("five.txt", os.path.join(top, "to-file"))
    os.symlink("src", os.path.join(top, "to-dir"))
    os.symlink(os.path.join(top, "docs", "a.md"), os.path.join(top, "to-absolute"))
    os.symlink("nothing", os.path.join(top, "to-nothing"))
    os.symlink("../outside", os.path.join(top, "to-outside"))
    os.symlink("/etc", os.path.join(top, "to-etc"))
    os.symlink("loop-b", os.path.join(top, "loop-a"))
    os.symlink("loop-a", os.path.join(top, "loop-b"))
    outside = os.path.join(os.path.dirname(top), "outside")
    os.makedirs(outside, exist_ok=True)
    with open(os.path.join(outside, "secret.txt"), "w", encoding="utf-8") as file:
        file.write("outside\n")
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            os.utime(os.path.join(base, name), (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    os.utime(top, (1_700_000_000, 1_700_000_000))


def cases(top):
    """(name, tool, arguments) in the order in which they are asked."""
    p = lambda path: os.path.join(top, path)
    long = "n" * 300
    found = []

    def case(name, tool, **arguments):
        found.append((name, tool, arguments))

    for tool in ("read_file", "read_text_file"):
        short = tool.removesuffix("_file")
        case(f"{short}/whole", tool, path=p("five.txt"))
        case(f"{short}/head", tool, path=p("five.txt"), head=2)
        case(f"{short}/tail", tool, path=p("five.txt"), tail=2)
    for name, arguments in {
        "relative": {"path": "five.txt"},
        "dots": {"path": p("src/../five.txt")},
        "slash": {"path": p("five.txt") + "/"},
        "head-all": {"path": p("five.txt"), "head": 100},
        "head-fraction": {"path": p("five.txt"), "head": 2.5},
        "head-negative": {"path": p("five.txt"), "head": -1},
        "head-zero": {"path": p("five.txt"), "head": 0},
        "head-crlf": {"path": p("crlf.txt"), "head": 2},
        "tail-one": {"path": p("five.txt"), "tail": 1},
        "tail-no-end": {"path": p("no-end.txt"), "tail": 1},
        "tail-all": {"path": p("five.txt"), "tail": 100},
        "tail-crlf": {"path": p("crlf.txt"), "tail": 2},
        "tail-negative": {"path": p("five.txt"), "tail": -2},
        "tail-large": {"path": p("many/C"), "tail": 1},
        "both": {"path": p("five.txt"), "head": 1, "tail": 1},
        "empty": {"path": p("empty.txt")},
        "empty-head": {"path": p("empty.txt"), "head": 3},
        "empty-tail": {"path": p("empty.txt"), "tail": 3},
        "crlf": {"path": p("crlf.txt")},
        "latin": {"path": p("latin.txt")},
        "unicode": {"path": p("unicode.txt")},
        "binary": {"path": p("data.bin")},
        "through-link": {"path": p("to-file")},
        "through-dir-link": {"path": p("to-dir/main.rs")},
        "through-absolute-link": {"path": p("to-absolute")},
        "missing": {"path": p("none.txt")},
        "missing-dir": {"path": p("none/x.txt")},
        "directory": {"path": p("src")},
        "below-file": {"path": p("five.txt/x")},
        "long-name": {"path": p(long)},
        "dangling": {"path": p("to-nothing")},
        "loop": {"path": p("loop-a")},
        "link-outside": {"path": p("to-outside/secret.txt")},
        "link-etc": {"path": p("to-etc/passwd")},
        "outside": {"path": "/etc/passwd"},
        "climb": {"path": p("../outside/secret.txt")},
        "sibling": {"path": top + "2/x"},
        "nul": {"path": p("a\0b")},
        "windows": {"path": "C:\\x"},
        "no-path": {},
        "bad-path": {"path": 1},
        "bad-head": {"path": p("five.txt"), "head": "2"},
        "extra-argument": {"path": p("five.txt"), "nonsense": True},
    }.items():
        case(f"read_text/{name}", "read_text_file", **arguments)
    for name in ("pixel.png", "sound.MP3", "drawing.svg", "data.bin", "five.txt", "odd name#%?.bin", "to-file"):
        case(f"media/{name}", "read_media_file", path=p(name))
    case("media/missing", "read_media_file", path=p("none.png"))
    case("media/directory", "read_media_file", path=p("src"))
    case("media/outside", "read_media_file", path="/etc/passwd")
    case("multiple/two", "read_multiple_files", paths=[p("five.txt"), "no-end.txt"])
    case("multiple/one-fails", "read_multiple_files", paths=[p("none.txt"), p("five.txt"), "/etc/passwd", p("src")])
    case("multiple/all-fail", "read_multiple_files", paths=[p("none.txt")])
    case("multiple/none", "read_multiple_files", paths=[])
    case("multiple/bad", "read_multiple_files", paths=[1, "x"])
    case("multiple/no-array", "read_multiple_files", paths="x")
    case("list/top", "list_directory", path=top)
    case("list/empty-path", "list_directory", path="")
    case("list/empty", "list_directory", path=p("void"))
    case("list/many", "list_directory", path=p("many"))
    case("list/link", "list_directory", path=p("to-dir"))
    case("list/file", "list_directory", path=p("five.txt"))
    case("list/below-file", "list_directory", path=p("five.txt/x"))
    case("list/missing", "list_directory", path=p("none"))
    case("list/outside", "list_directory", path=os.path.dirname(top))
    case("list/link-outside", "list_directory", path=p("to-outside"))
    case("list/bad", "list_directory", path=None)
    case("sizes/name", "list_directory_with_sizes", path=p("many"))
    case("sizes/explicit", "list_directory_with_sizes", path=p("many"), sortBy="name")
    case("sizes/size", "list_directory_with_sizes", path=p("many"), sortBy="size")
    case("sizes/empty", "list_directory_with_sizes", path=p("void"))
    case("sizes/src", "list_directory_with_sizes", path=p("src"))
    case("sizes/bad-sort", "list_directory_with_sizes", path=p("many"), sortBy="date")
    case("sizes/file", "list_directory_with_sizes", path=p("five.txt"))
    case("sizes/links", "list_directory_with_sizes", path=top)
    case("tree/src", "directory_tree", path=p("src"))
    case("tree/top", "directory_tree", path=top)
    case("tree/empty", "directory_tree", path=p("void"))
    for name, patterns in {
        "star": ["*.rs"],
        "globstar": ["**/*.rs"],
        "below": ["deep/**"],
        "word": ["deep"],
        "two": ["deep", "*.rs"],
        "braces": ["{main,lib}.rs"],
        "hidden": [".*"],
    }.items():
        case(f"tree/exclude-{name}", "directory_tree", path=p("src"), excludePatterns=patterns)
    case("tree/file", "directory_tree", path=p("five.txt"))
    case("tree/missing", "directory_tree", path=p("none"))
    case("tree/outside", "directory_tree", path="/etc")
    case("tree/bad", "directory_tree", path=p("src"), excludePatterns="x")
    for name, pattern in {
        "star": "*.txt",
        "globstar": "**/*.rs",
        "plain": "main.rs",
        "deep-plain": "**/main.rs",
        "all": "**",
        "braces": "**/*.{rs,md}",
        "class": "[de]*",
        "question": "????.txt",
        "group": "@(five|edit).txt",
        "negated": "!**/*.rs",
        "comment": "#x",
        "nothing": "zzz",
        "hidden": "**/.*",
        "directory": "src",
        "empty": "",
        "links": "to-*",
        "plus": "+(a|b|c)*",
        "not-group": "**/!(*.rs)",
        "range": "**/b{9..10}",
    }.items():
        case(f"search/{name}", "search_files", path=top, pattern=pattern)
    case("search/exclude", "search_files", path=top, pattern="**/*.rs", excludePatterns=["src/deep/**"])
    case("search/exclude-word", "search_files", path=top, pattern="**/*.rs", excludePatterns=["deep"])
    case("search/below", "search_files", path=p("src"), pattern="**/*.rs")
    case("search/through-link", "search_files", path=p("to-dir"), pattern="**/*.rs")
    case("search/file", "search_files", path=p("five.txt"), pattern="*")
    case("search/missing", "search_files", path=p("none"), pattern="*")
    case("search/outside", "search_files", path="/etc", pattern="*")
    case("search/no-pattern", "search_files", path=top)
    for name in ("five.txt", "src", "exec.sh", "private.txt", "to-file", "none", "to-outside", "five.txt/x"):
        case(f"info/{name}", "get_file_info", path=p(name))
    case("allowed", "list_allowed_directories")
    case("allowed/extra", "list_allowed_directories", nonsense=1)
    case("write/new", "write_file", path=p("w/../new.txt"), content="new\n")
    case("write/again", "write_file", path=p("new.txt"), content="newer\n")
    case("write/relative", "write_file", path="rel.txt", content="r")
    case("write/empty", "write_file", path=p("blank.txt"), content="")
    case("write/unicode", "write_file", path=p("uni.txt"), content="naïve 😀\u0000x")
    case("write/keeps-mode", "write_file", path=p("exec.sh"), content="#!/bin/sh\n")
    case("write/through-link", "write_file", path=p("to-file"), content="through\n")
    case("write/no-parent", "write_file", path=p("none/x.txt"), content="x")
    case("write/below-file", "write_file", path=p("no-end.txt/x"), content="x")
    case("write/directory", "write_file", path=p("src"), content="x")
    case("write/outside", "write_file", path="/etc/handfast-interop", content="x")
    case("write/link-outside", "write_file", path=p("to-outside/new.txt"), content="x")
    case("write/dangling", "write_file", path=p("to-nothing"), content="x")
    case("write/long", "write_file", path=p(long), content="x")
    case("write/no-content", "write_file", path=p("x.txt"))
    case("write/bad-content", "write_file", path=p("x.txt"), content={"a": 1})
    edit = lambda old, new: {"oldText": old, "newText": new}
    case("edit/one", "edit_file", path=p("edit.txt"), edits=[edit("beta", "BETA")])
    case("edit/two", "edit_file", path=p("edit.txt"), edits=[edit("alpha", "ALPHA"), edit("kappa\n", "kappa!\n")])
    case("edit/dry", "edit_file", path=p("edit.txt"), edits=[edit("gamma", "GAMMA")], dryRun=True)
    case("edit/nothing", "edit_file", path=p("edit.txt"), edits=[])
    case("edit/same", "edit_file", path=p("edit.txt"), edits=[edit("delta", "delta")])
    case("edit/dollar", "edit_file", path=p("edit.txt"), edits=[edit("delta", "$& $1 $$")])
    case("edit/multiline", "edit_file", path=p("edit.txt"), edits=[edit("zeta\neta", "Z\nE\nX")])
    case("edit/no-match", "edit_file", path=p("edit.txt"), edits=[edit("nowhere", "x")])
    case("edit/half-match", "edit_file", path=p("edit.txt"), edits=[edit("theta", "T"), edit("nowhere", "x")])
    case("edit/indent", "edit_file", path=p("code.py"), edits=[edit("return 1", "return 3")])
    case("edit/loose", "edit_file", path=p("code.py"), edits=[edit("  if x:  ", "if y:")])
    case("edit/loose-lines", "edit_file", path=p("code.py"), edits=[edit("if y:\nreturn 3", "if z:\n    return 4")])
    case("edit/twice", "edit_file", path=p("twice.txt"), edits=[edit("same", "other")])
    case("edit/fence", "edit_file", path=p("fence.md"), edits=[edit("code", "more")])
    case("edit/no-end", "edit_file", path=p("no-end.txt"), edits=[edit("b", "c")])
    case("edit/crlf", "edit_file", path=p("crlf.txt"), edits=[edit("b", "B")])
    case("edit/through-link", "edit_file", path=p("to-dir/main.rs"), edits=[edit("{}", "{ }")])
    case("edit/missing", "edit_file", path=p("none.txt"), edits=[edit("a", "b")])
    case("edit/directory", "edit_file", path=p("src"), edits=[edit("a", "b")])
    case("edit/outside", "edit_file", path="/etc/passwd", edits=[edit("root", "toor")])
    case("edit/bad-edit", "edit_file", path=p("edit.txt"), edits=[{"oldText": "x"}])
    case("edit/bad-edits", "edit_file", path=p("edit.txt"), edits="x")
    case("edit/bad-dry", "edit_file", path=p("edit.txt"), edits=[], dryRun="yes")
    case("mkdir/new", "create_directory", path=p("made"))
    case("mkdir/again", "create_directory", path=p("made"))
    case("mkdir/deep", "create_directory", path=p("made/a/b/c"))
    case("mkdir/relative", "create_directory", path="made-too")
    case("mkdir/through-link", "create_directory", path=p("to-dir/made"))
    case("mkdir/over-file", "create_directory", path=p("empty.txt"))
    case("mkdir/below-file", "create_directory", path=p("empty.txt/x"))
    case("mkdir/outside", "create_directory", path="/etc/handfast-interop")
    case("mkdir/link-outside", "create_directory", path=p("to-outside/x"))
    case("mkdir/bad", "create_directory")
    case("move/file", "move_file", source=p("blank.txt"), destination=p("moved.txt"))
    case("move/relative", "move_file", source="rel.txt", destination="made/rel.txt")
    case("move/directory", "move_file", source=p("made/a"), destination=p("made/z"))
    case("move/exists", "move_file", source=p("moved.txt"), destination=p("empty.txt"))
    case("move/onto-itself", "move_file", source=p("moved.txt"), destination=p("moved.txt"))
    case("move/onto-directory", "move_file", source=p("moved.txt"), destination=p("void"))
    case("move/missing", "move_file", source=p("none"), destination=p("none2"))
    case("move/no-parent", "move_file", source=p("moved.txt"), destination=p("none/x"))
    case("move/below-file", "move_file", source=p("moved.txt"), destination=p("empty.txt/x"))
    case("move/into-itself", "move_file", source=p("docs"), destination=p("docs/inner"))
    case("move/outside", "move_file", source=p("moved.txt"), destination="/etc/handfast-interop")
    case("move/from-outside", "move_file", source="/etc/passwd", destination=p("passwd"))
    case("move/link-outside", "move_file", source=p("moved.txt"), destination=p("to-outside/x"))
    case("move/bad", "move_file", source=p("moved.txt"))
    case("move/link", "move_file", source=p("to-absolute"), destination=p("moved-link"))
    case("unknown", "nope")
    return found


def patterns(count):
    """Random glob patterns, always the same ones."""
    numbers = random.Random(20261116)
    names = ["src", "deep", "main", "many", "docs", "a", "b9", ".hidden", "five", "to", "exec"]
    signs = ["*", "**", "?", "[a-m]", "[!s]", "{src,docs}", "{m,e}", "@(a|b)", "+(e|p|d)", "?(x)", "*(e)", "!(main)", "\\*", ".", "-"]
    ends = [".rs", ".txt", ".md", "", "", "*"]
    found = []
    while len(found) < count:
        pieces = []
        for _ in range(numbers.randint(1, 3)):
            kind = numbers.random()
            if kind < 0.25:
                pieces.append("**")
            elif kind < 0.45:
                pieces.append(numbers.choice(names))
            else:
                pieces.append("".join(numbers.choice(names if numbers.random() < 0.4 else signs) for _ in range(numbers.randint(1, 3))))
        text = "/".join(pieces) + numbers.choice(ends)
        if text not in found:
            found.append(text)
    return found
