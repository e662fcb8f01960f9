/**
 * The SDK of transcriptd for Node. docs/typescript.md begins with the first conversation.
 *
 * @packageDocumentation
 */
export * from "./core.js";
export { connect, type ConnectOptions } from "./node/connect.js";
export type { TlsFiles } from "./node/files.js";
