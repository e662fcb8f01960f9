// What forModel gives, as the types of @anthropic-ai/sdk have it.

/** What forModel gives of a request: the caller adds model, max_tokens and the like. */
export interface ModelRequest {
  system?: string | ModelText[];
  messages: ModelMessage[];
}

/** A message of a request. */
export interface ModelMessage {
  role: "user" | "assistant";
  content: string | ModelBlock[];
}

/** A block of content. */
export type ModelBlock =
  | ModelText
  | ModelMedia
  | ModelThinking
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content?: string | (ModelText | ModelMedia)[]; is_error?: boolean }
  | ServerBlock;

/** A text. */
export interface ModelText {
  type: "text";
  text: string;
}

/** An image or a document. */
export type ModelMedia =
  | {
      type: "image";
      source:
        | { type: "base64"; media_type: "image/png" | "image/jpeg" | "image/gif" | "image/webp"; data: string }
        | { type: "url"; url: string };
    }
  | {
      type: "document";
      source:
        | { type: "base64"; media_type: "application/pdf"; data: string }
        | { type: "text"; media_type: "text/plain"; data: string }
        | { type: "url"; url: string };
      title?: string;
      context?: string;
    };

/** What the model thought, signed or encrypted. */
export type ModelThinking =
  { type: "thinking"; thinking: string; signature: string } | { type: "redacted_thinking"; data: string };

/** A call of a server's tool, or its result, as the provider wrote it. */
export type ServerBlock =
  | { type: "server_tool_use"; id: string; name: ServerTool; input: unknown }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the provider's own content, which it takes back
  | { type: ServerResult; tool_use_id: string; content: any };

/** The tools that a server runs within its answer. */
export type ServerTool =
  | "web_search"
  | "web_fetch"
  | "code_execution"
  | "bash_code_execution"
  | "text_editor_code_execution"
  | "tool_search_tool_regex"
  | "tool_search_tool_bm25";

/** The types of their results. */
export type ServerResult =
  | "web_search_tool_result"
  | "web_fetch_tool_result"
  | "code_execution_tool_result"
  | "bash_code_execution_tool_result"
  | "text_editor_code_execution_tool_result"
  | "tool_search_tool_result";
