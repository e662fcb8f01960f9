// What forModel gives, as the openai package's types have it.

/** A message of a chat-completions request. */
export type ChatMessage = ChatInstruction | ChatUser | ChatAssistant | ChatResult;

/** What the system or the developer says. */
export interface ChatInstruction {
  role: "system" | "developer";
  content: string | ChatText[];
  name?: string;
}

/** What a user says. */
export interface ChatUser {
  role: "user";
  content: string | ChatContent[];
  name?: string;
}

/** What the model said. */
export interface ChatAssistant {
  role: "assistant";
  content: string | (ChatText | ChatRefusal)[] | null;
  name?: string;
  tool_calls?: ChatCall[];
}

/** The result of a call. */
export interface ChatResult {
  role: "tool";
  tool_call_id: string;
  content: string | ChatText[];
}

/** A part of a user's content. */
export type ChatContent = ChatText | ChatImage | ChatAudio | ChatFile;

/** A text. */
export interface ChatText {
  type: "text";
  text: string;
}

/** A refusal. */
export interface ChatRefusal {
  type: "refusal";
  refusal: string;
}

/** An image, by http(s) URL or data: URL. */
export interface ChatImage {
  type: "image_url";
  image_url: { url: string; detail?: "auto" | "low" | "high" };
}

/** Audio, in base64. */
export interface ChatAudio {
  type: "input_audio";
  input_audio: { data: string; format: "wav" | "mp3" };
}

/** A file, by a data: URL or the id of an upload. */
export interface ChatFile {
  type: "file";
  file: { file_data?: string; filename?: string; file_id?: string };
}

/** A call of a function or of a custom tool. */
export type ChatCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };
