// Uses the package as it was installed: every entry that it exports, types too.

import * as anthropic from "transcriptd/anthropic";
import { nodeId, user } from "transcriptd/core";
import * as openai from "transcriptd/openai";
import { assistant, call, messageAlias, result, system, type Message } from "transcriptd";

const add = call("c1", "add", '{"a":2,"b":2}');
const messages: Message[] = [system("Be brief."), user("2+2?"), assistant("", [add]), result(add, "4"), assistant("4")];
const chat: openai.ChatMessage[] = openai.forModel(messages).messages;
const request: anthropic.ModelRequest = anthropic.forModel(messages).request;
const id: string = nodeId({ messages: openai.parse(JSON.stringify(openai.format(messages).messages)).messages });
console.log(chat.length, request.messages.length, messageAlias("m1"), id === nodeId({ messages }));
