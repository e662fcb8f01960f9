// The model: the script, or a provider's.

import type { Message } from "transcriptd";

import { answer } from "./script.js";
import type { Tool } from "./tools.js";

/** Says what comes after messages: calls of tools, or a text. */
export type Model = (messages: readonly Message[], tools: readonly Tool[]) => Promise<Message>;

const MAX_TOKENS = 4096; // of a reply

/**
 * The model that the environment variable MODEL names: openai:NAME, anthropic:NAME, or none, the script. The providers' clients read
 * OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL by themselves.
 */
export async function chosenModel(variable: string): Promise<Model> {
  const [, provider, name] = /^(openai|anthropic):(.+)$/.exec(variable) ?? [];
  if (variable === "") {
    return async (messages) => answer(messages);
  }
  if (name === undefined) {
    throw new RangeError("MODEL has to be openai:NAME or anthropic:NAME, or not set for the script");
  }
  return provider === "openai" ? openaiModel(name) : anthropicModel(name);
}

async function openaiModel(model: string): Promise<Model> {
  const { default: OpenAI } = await import("openai"); // a provider's client is needed only where it is asked for
  const openai = await import("transcriptd/openai");
  const client = new OpenAI();
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

async function anthropicModel(model: string): Promise<Model> {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const anthropic = await import("transcriptd/anthropic");
  const client = new Anthropic();
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
