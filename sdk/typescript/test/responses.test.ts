import * as anthropic from "../src/anthropic/index.js";
import * as openai from "../src/openai/index.js";
import * as responses from "../src/openai/responses.js";
import { conversions, vectors } from "./conversions.js";

await vectors("responses.json", responses);
await conversions("responses_conversions.json", responses, {
  openai: openai.parse,
  anthropic: anthropic.parse,
  responses: responses.parse,
});
