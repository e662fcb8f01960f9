// Which features of a server a request needs, so that the refusal of an older one names them. docs/api.md lists the features.

import {
  create,
  isFieldSet,
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
} from "@bufbuild/protobuf";
import type { StreamResponse, Transport } from "@connectrpc/connect";

import { TranscriptError, typed } from "./errors.js";
import type { ServerInfoResponse } from "./gen/transcript/v1/transcript_service_pb.js";

/** The features of methods, by name. */
const METHODS: Readonly<Record<string, string>> = {
  Backup: "backup",
  CollectGarbage: "collection",
  DeleteAliases: "delete_aliases",
  Erase: "erase",
  GetReceipts: "erase",
  DeleteNamespace: "delete_namespace",
  GetNodes: "get_nodes",
  PutArchivedNodes: "archived_nodes",
  ListNamespaces: "namespaces",
  Restore: "backup",
  SetNamespace: "namespaces",
};

/** The features of fields, by the name of their message and their own. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AliasUpdate: { delete: "alias_deletes" },
  AliasMove: { delete: "alias_deletes" },
  ListAliasesRequest: { order: "alias_order" },
  AliasPrecondition: { revision: "alias_revisions" },
  DeleteAliasRequest: { forget_history: "collection" },
  DeleteAliasesRequest: { forget_history: "collection" },
  NamespaceSettings: { retention: "retention" },
  StreamAssembleRequest: { last_messages: "last_messages", last_bytes: "last_messages", before: "last_messages" },
  MessageNote: {
    model: "note_costs",
    finish_reason: "note_costs",
    input_tokens: "note_costs",
    output_tokens: "note_costs",
    cached_tokens: "note_costs",
    attributes: "note_costs",
  },
  Part: { opaque: "opaque_parts" },
  Policy: { preset: "presets" },
  VerifyRequest: { scope: "verify_cursor", cursor: "verify_cursor", max_bytes_per_second: "verify_cursor" },
};

/** The features that a request needs. */
export function needed(method: DescMethod, request: Message): Set<string> {
  const features = new Set<string>();
  const own = METHODS[method.name];
  if (own !== undefined) {
    features.add(own);
  }
  collect(method.input, request, features);
  return features;
}

/** A transport that tells of a refusal by an older server which features this lacks: UNSUPPORTED. info asks what the server is. */
export function explaining(transport: Transport, info: () => Promise<ServerInfoResponse>): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      try {
        return await transport.unary(method, signal, timeoutMs, header, input, contextValues);
      } catch (error) {
        throw await explained(error, method, create(method.input, input), info);
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const sent: Message[] = [];
      const request = (async function* () {
        for await (const init of input) {
          const message = create(method.input, init);
          sent.push(message);
          yield message;
        }
      })();
      const tell = (error: unknown): Promise<unknown> => {
        const [first] = sent;
        return first === undefined ? Promise.resolve(error) : explained(error, method, first, info);
      };
      let opened: StreamResponse<typeof method.input, typeof method.output>;
      try {
        opened = await transport.stream(method, signal, timeoutMs, header, request, contextValues);
      } catch (error) {
        throw await tell(error);
      }
      const { message: replies } = opened;
      return {
        ...opened,
        message: (async function* () {
          try {
            yield* replies;
          } catch (error) {
            throw await tell(error);
          }
        })(),
      };
    },
  };
}

/** The error of a call, which names the features that the server lacks for it. */
async function explained(
  error: unknown,
  method: DescMethod,
  request: Message,
  info: () => Promise<ServerInfoResponse>,
): Promise<unknown> {
  const refused = typed(error);
  if (!(
    refused instanceof TranscriptError &&
    (refused.code === "UNIMPLEMENTED" || refused.reason === "MALFORMED_REQUEST")
  )) {
    return error;
  }
  const features = needed(method, request);
  if (features.size === 0) {
    return error;
  }
  let server: ServerInfoResponse;
  try {
    server = await info();
  } catch {
    return error;
  }
  const missing = [...features].filter((feature) => !server.features.includes(feature)).sort();
  if (missing.length === 0) {
    return error;
  }
  const which = server.serverVersion === "" ? "" : `of version ${server.serverVersion} `;
  return new TranscriptError(
    "UNIMPLEMENTED",
    "UNSUPPORTED",
    `UNSUPPORTED: the server ${which}lacks ${missing.join(", ")}`,
    { requestId: refused.requestId },
    { cause: error },
  );
}

function collect(schema: DescMessage, message: Message, features: Set<string>): void {
  for (const field of schema.fields) {
    if (!isFieldSet(message, field)) {
      continue;
    }
    const feature = FIELDS[schema.name]?.[field.name];
    if (feature !== undefined) {
      features.add(feature);
    }
    if (field.message !== undefined && field.fieldKind !== "map") {
      for (const one of values(message, field)) {
        collect(field.message, one, features);
      }
    }
  }
}

/** The messages of a field that is set. */
function values(message: Message, field: DescField): Message[] {
  const members = message as unknown as Record<string, unknown>;
  const value = field.oneof ? (members[field.oneof.localName] as { value: unknown }).value : members[field.localName];
  return field.fieldKind === "list" ? (value as Message[]) : [value as Message];
}
