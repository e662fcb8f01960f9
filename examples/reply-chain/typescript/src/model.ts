// The model: the script, or a provider's.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Message } from "transcriptd";
import * as anthropic from "transcriptd/anthropic";
import * as openai from "transcriptd/openai";

import { answer } from "./script.js";
import type { Tool } from "./tools.js";

/** Says what comes after messages: calls of tools, or a text. */
export type Model = (messages: readonly Message[], tools: readonly Tool[]) => Promise<Message>;

const MAX_TOKENS = 4096; // of a reply

/**
 * The model that the environment variable MODEL names: openai:NAME, anthropic:NAME, or none, the script. The providers' clients read
 * OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL by themselves.
 */
export function chosenModel(variable: string): Model {
  const [, provider, name] = /^(openai|anthropic):(.+)$/.exec(variable) ?? [];
  if (variable === "") {
    return async (messages) => answer(messages);
  }
  if (name === undefined) {
    throw new RangeError("MODEL has to be openai:NAME or anthropic:NAME, or not set for the script");
  }
  return provider === "openai" ? openaiModel(new OpenAI(), name) : anthropicModel(new Anthropic(), name);
}

function openaiModel(client: OpenAI, model: string): Model {
  return async (messages, tools) => {
    const got = await client.chat.completions.create({
      model,
      messages: openai.forModel(messages).messages,
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: "function",
          function: { name, description, parameters },
        })),
      }),
    });
    return openai.parseMessage(got.choices[0]?.message).message;
  };
}

function anthropicModel(client: Anthropic, model: string): Model {
  return async (messages, tools) => {
    const got = await client.messages.create({
      model,
      max_tokens: MAX_TOKENS,
      ...anthropic.forModel(messages).request, // system and messages
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: { type: "object", ...parameters },
        })),
      }),
    });
    return anthropic.parseMessage({ role: "assistant", content: got.content }).messages[0]!;
  };
}
