import * as anthropic from "../src/anthropic/index.js";
import * as openai from "../src/openai/index.js";
import { conversions, vectors } from "./conversions.js";

await vectors("openai.json", openai);
await conversions("openai_conversions.json", openai, { openai: openai.parse, anthropic: anthropic.parse });
