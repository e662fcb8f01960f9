// Uses the package as it was installed, beside a server: every entry that it exports, types too.

import {
  assistant,
  call,
  connect,
  isReason,
  messageAlias,
  policies,
  result,
  system,
  text,
  user,
  type Client,
  type Message,
  type Thread,
  type TranscriptError,
} from "transcriptd";
import * as anthropic from "transcriptd/anthropic";
import { nodeId } from "transcriptd/core";
import * as openai from "transcriptd/openai";
import * as responses from "transcriptd/openai/responses";

const add = call("c1", "add", '{"a":2,"b":2}');
const client: Client = connect(process.env.TRANSCRIPTD_ADDRESS ?? "127.0.0.1:7420", { verify: true });
const thread: Thread = await client.start({
  messageId: "m1",
  system: system("Be brief."),
  messages: user("2+2?"),
});
await thread.append(assistant("", [add]));
await thread.appendResults(result(add, "4"));
await thread.reply("o1", assistant("4"));
const messages: Message[] = await thread.messages(policies.chat());

const chat: openai.ChatMessage[] = openai.forModel(messages).messages;
const items: responses.InputItem[] = responses.forModel(messages).items;
const request: anthropic.ModelRequest = anthropic.forModel(messages).request;
const id: string = nodeId({
  messages: openai.parse(JSON.stringify(openai.format(messages).messages)).messages,
});
const missing: TranscriptError | undefined = await client.resume("none").then(
  () => undefined,
  (error: unknown) => (isReason(error, "ALIAS_NOT_FOUND") ? error : undefined),
);
const alias: string = (await client.resolve(messageAlias("o1"))).alias.nodeId;
client.close();

const ok =
  text(messages[4] ?? user("")) === "4" &&
  chat.length === 5 &&
  items.length === 5 &&
  request.messages.length === 4 &&
  id === nodeId({ messages }) &&
  missing?.code === "NOT_FOUND" &&
  alias === thread.head;
console.log(ok ? "the package works" : "the package does not work");
process.exitCode = ok ? 0 : 1;
