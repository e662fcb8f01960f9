import * as anthropic from "../src/anthropic/index.js";
import * as openai from "../src/openai/index.js";
import { conversions, vectors } from "./conversions.js";

await vectors("anthropic.json", anthropic);
await conversions("anthropic_conversions.json", anthropic, { openai: openai.parse, anthropic: anthropic.parse });
