// Walks `transcriptctl mcp` with the newer client, in the newest protocol and in an older one: node new.mjs TRANSCRIPTCTL URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { walk } from "./shared.mjs";

const [command, url] = process.argv.slice(2);
for (const options of [{}, { versionNegotiation: { mode: "auto" } }]) {
  for (const transport of [
    new StdioClientTransport({ command, args: ["mcp"], env: process.env }),
    new StreamableHTTPClientTransport(new URL(url)),
  ]) {
    const client = new Client({ name: "check", version: "1" }, options);
    await client.connect(transport);
    await walk(client);
    console.log(transport.constructor.name, JSON.stringify(options));
  }
}
