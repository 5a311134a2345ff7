// The official TypeScript clients before the server: both eras, standard input and output and HTTP.
//
//   clients.mjs HANDFAST DIRECTORY STATE URL TOKEN
//
// The newer client (@modelcontextprotocol/client) speaks the stateless era if the server does; the
// older one (@modelcontextprotocol/sdk) knows the handshake only.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [handfast, directory, state, url, token] = process.argv.slice(2);
const info = { name: "typescript", version: "1" };
const command = { command: handfast, args: ["mcp", "--quiet", "--state", state, directory], stderr: "inherit" };
const request = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };

async function talk(name, client, transport, expected) {
  await client.connect(transport);
  const era = client.getNegotiatedProtocolVersion?.() ?? client.getProtocolEra?.() ?? transport._protocolVersion ?? "?";
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  for (const wanted of ["read_text_file", "edit_file", "search_content", "append_file"]) assert.ok(names.includes(wanted), wanted);
  const written = await client.callTool({
    name: "write_file",
    arguments: { path: "from-typescript.txt", content: `hello from ${name}` },
  });
  assert.ok(!written.isError, JSON.stringify(written));
  // The client checks structured content against the output schema.
  const read = await client.callTool({ name: "read_text_file", arguments: { path: "from-typescript.txt" } });
  assert.equal(read.structuredContent.content, `hello from ${name}`);
  assert.equal(read.content[0].text, `hello from ${name}`);
  assert.ok(read._meta["handfast/version"]);
  const media = await client.callTool({ name: "read_media_file", arguments: { path: "from-typescript.txt" } });
  assert.equal(media.content[0].type, "resource");
  const refused = await client.callTool({ name: "read_text_file", arguments: { path: "/etc/passwd" } });
  assert.ok(refused.isError);
  await assert.rejects(client.callTool({ name: "nope", arguments: {} }));
  await context(client, name);
  // 200 calls at once: every answer is the one to its own question.
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, number) =>
      client.callTool({ name: "search_files", arguments: { path: "", pattern: `none-${number}` } }).then((answer) => {
        assert.equal(answer.structuredContent.content, "No matches found");
        return number;
      }),
    ),
  );
  assert.equal(new Set(answers).size, 200);
  await client.close();
  if (expected) assert.equal(String(era), expected, name);
  console.log(`${name.padEnd(44)} ${era}`);
}

/// Prompts, resources and completions.
async function context(client, name) {
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === "what_was_refused"));
  const prompt = await client.getPrompt({ name: "what_was_refused" });
  assert.match(prompt.messages[0].content.text, /\/etc\/passwd/);
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates[0].uriTemplate, "file://{+path}");
  const listed = await client.readResource({ uri: resources[0].uri });
  assert.match(listed.contents[0].text, /from-typescript\.txt/);
  const file = await client.readResource({ uri: `${resources[0].uri}/from-typescript.txt` });
  assert.equal(file.contents[0].text, `hello from ${name}`);
  await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }));
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "file://{+path}" },
    argument: { name: "path", value: `${directory}/from-` },
  });
  assert.deepEqual(completion.values, [`${directory}/from-typescript.txt`]);
}

const stateless = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
await talk("client 2.4.0, stdio, stateless", new Client(info, stateless), new StdioClientTransport(command), "2026-07-28");
await talk("client 2.4.0, stdio, handshake", new Client(info), new StdioClientTransport(command));
await talk("sdk 1.32.2, stdio, handshake", new OldClient(info), new OldStdio(command));
await talk("client 2.4.0, HTTP, stateless", new Client(info, stateless), new StreamableHTTPClientTransport(new URL(url), request), "2026-07-28");
await talk("client 2.4.0, HTTP, handshake", new Client(info), new StreamableHTTPClientTransport(new URL(url), request));
await talk("sdk 1.32.2, HTTP, handshake", new OldClient(info), new OldHttp(new URL(url), request));
// A body whose length is not known goes in chunks.
const inChunks = {
  ...request,
  fetch: (to, init) =>
    fetch(to, typeof init?.body === "string" ? { ...init, body: new Blob([init.body]).stream(), duplex: "half" } : init),
};
await talk("client 2.4.0, HTTP in chunks, stateless", new Client(info, stateless), new StreamableHTTPClientTransport(new URL(url), inChunks), "2026-07-28");
await talk("sdk 1.32.2, HTTP in chunks, handshake", new OldClient(info), new OldHttp(new URL(url), inChunks));
await hears(new OldClient(info), new OldStdio(command));

/// A client that subscribed hears of a file that changes.
async function hears(client, transport) {
  const { ResourceUpdatedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  await client.connect(transport);
  assert.ok(client.getServerCapabilities().resources.subscribe);
  const { resources } = await client.listResources();
  const uri = `${resources[0].uri}/from-typescript.txt`;
  const told = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
  });
  await client.subscribeResource({ uri });
  await client.callTool({ name: "write_file", arguments: { path: "from-typescript.txt", content: "changed", overwrite: true } });
  assert.equal(await told, uri);
  await client.unsubscribeResource({ uri });
  await client.close();
  console.log("sdk 1.32.2, stdio, a subscription               told");
}
