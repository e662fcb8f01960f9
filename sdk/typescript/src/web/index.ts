/**
 * The SDK of transcriptd for browsers and Workers, over fetch. docs/typescript.md says how.
 *
 * @packageDocumentation
 */
export * from "../core.js";
export { connect, type WebOptions } from "./connect.js";
