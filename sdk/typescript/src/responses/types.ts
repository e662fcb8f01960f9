// What forModel gives.

/**
 * An item of a request's input, as the openai package's ResponseInputItem has it, but that reasoning has no id: the API needs none of what it does
 * not store, and that package's type wants one. Pass the items `as ResponseInput`.
 */
export type InputItem =
  | InputMessage
  | { type: "function_call"; call_id: string; name: string; namespace?: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string | InputContent[] }
  | { type: "custom_tool_call"; call_id: string; name: string; namespace?: string; input: string }
  | { type: "custom_tool_call_output"; call_id: string; output: string | InputContent[] }
  | { type: "reasoning"; encrypted_content: string; summary: { type: "summary_text"; text: string }[] }
  | { type: "compaction"; encrypted_content: string };

/** What somebody says. */
export interface InputMessage {
  role: "system" | "developer" | "user" | "assistant";
  content: string | (InputContent | SaidContent)[];
  phase?: "commentary" | "final_answer";
}

/** A part of what the model said. */
export type SaidContent = { type: "output_text"; text: string } | { type: "refusal"; refusal: string };

/** A part of what anybody else says, or of a result. */
export type InputContent =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url?: string; file_id?: string; detail: "auto" | "low" | "high" | "original" }
  | { type: "input_file"; file_data?: string; file_url?: string; file_id?: string; filename?: string };
