/**
 * The SDK of transcriptd for Node.
 *
 * @packageDocumentation
 */
export * from "./core.js";
