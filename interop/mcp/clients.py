"""The official Python client before the server: standard input and output and HTTP.

    clients.py HANDFAST DIRECTORY STATE URL TOKEN

Uses the client's own checks of structured content; asks 200 things at once; tells its roots, by HTTP too; answers the question
of `propose_changes`.
"""

import asyncio
import os
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

handfast, directory, state, url, token = sys.argv[1:6]
part = os.path.join(directory, "part")
os.makedirs(part, exist_ok=True)
for name in ("top.txt", "part/inner.txt"):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(name)


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri=f"file://{part}")])


async def comment(_context, _params):
    return types.ElicitResult(action="accept", content={"decision": "commit", "comment": "a comment"})


async def text(session, tool, **arguments):
    answer = await session.call_tool(tool, arguments)
    if answer.is_error:
        return answer.content[0].text
    return answer.structured_content["content"]


async def many(session):
    answers = await asyncio.gather(*[text(session, "search_files", path="", pattern=f"none-{n}") for n in range(200)])
    assert answers == ["No matches found"] * 200


async def talk(name, transport, has_roots):
    async with transport as streams:
        async with ClientSession(streams[0], streams[1], list_roots_callback=roots if has_roots else None) as session:
            await session.initialize()
            top = await text(session, "read_text_file", path=os.path.join(directory, "top.txt"))
            if has_roots:
                assert top.startswith("Access denied"), top
                assert await text(session, "read_text_file", path="inner.txt") == "part/inner.txt"
            else:
                assert top == "top.txt", top
            await many(session)
    print(name)


async def propose():
    command = ["mcp", "--quiet", "--state", state, "--session", "python", directory]
    async with stdio_client(StdioServerParameters(command=handfast, args=command)) as streams:
        async with ClientSession(streams[0], streams[1], elicitation_callback=comment) as session:
            await session.initialize()
            await text(session, "write_file", path="proposed.txt", content="x")
            said = await text(session, "propose_changes")
            assert "a comment" in said and "Nothing is on disk" in said, said
    assert not os.path.exists(os.path.join(directory, "proposed.txt"))
    print("python 2.3.0, a comment on a proposal")


async def main():
    command = StdioServerParameters(command=handfast, args=["mcp", "--quiet", "--state", state, directory])
    for has_roots in (False, True):
        what = ", roots" if has_roots else ""
        await talk(f"python 2.3.0, stdio{what}", stdio_client(command), has_roots)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            await talk(f"python 2.3.0, HTTP{what}", streamable_http_client(url, http_client=http), has_roots)
    await propose()


asyncio.run(main())
