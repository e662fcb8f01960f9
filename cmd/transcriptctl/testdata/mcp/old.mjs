// Walks `transcriptctl mcp` with the older client: node old.mjs TRANSCRIPTCTL URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { walk } from "./shared.mjs";

const [command, url] = process.argv.slice(2);
for (const transport of [
  new StdioClientTransport({ command, args: ["mcp"], env: process.env }),
  new StreamableHTTPClientTransport(new URL(url)),
]) {
  const client = new Client({ name: "check", version: "1" });
  await client.connect(transport);
  await walk(client);
  console.log(transport.constructor.name);
}
