/**
 * Converts between items of OpenAI's Responses API, those of a request's input and of a response's output, and transcript messages.
 * docs/conversion.md says member by member what becomes what.
 *
 * parse and format are the lossless form: what parse read, format writes again, equal as JSON, and nothing else becomes the same messages.
 * forModel is the form for a model: what the API accepts, whatever the messages hold.
 *
 * @packageDocumentation
 */
export { ConversionError, NoMessagesError, type Change, type ChangeKind, type Report } from "../convert/report.js";
export type { JsonObject, JsonValue } from "../json.js";
export { format, formatText } from "../responses/format.js";
export { forModel, forModelText } from "../responses/model.js";
export { parse } from "../responses/parse.js";
export type * from "../responses/types.js";
