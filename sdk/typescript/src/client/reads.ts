// What is no longer in a view, and what is told of a chain.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { fault, TranscriptError } from "../errors.js";
import type { Part } from "../gen/transcript/v1/message_pb.js";
import {
  DescribeMode,
  DescribeRequestSchema,
  ListRunLoopsRequestSchema,
  RecallToolCallRequestSchema,
  ReplayToolsRequestSchema,
  SearchRequestSchema,
  ServerInfoResponseSchema,
  type DescribeResponse,
  type RecallToolCallResponse,
  type ReplayToolsResponse,
  type RunLoop,
  type SearchHit,
  type SearchResponse,
  type ServerInfoResponse,
  type VariableInfo,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { byId, nodeRef, type Ref } from "../refs.js";
import { Views } from "./views.js";

/** Which call of a chain to recall. */
export interface Recall {
  /** The call's id; absent: calls without one. Not needed with place. */
  readonly id?: string | undefined;
  /** NODE.I as a left-out result's line gives it; it names exactly that result. */
  readonly place?: string | undefined;
  /** Counts back where ids repeat: 0, and without, is the latest. Not with place. */
  readonly occurrence?: number | undefined;
  /** Takes secrets out of all text of the call and of the result, of each text by itself. */
  readonly redact?: boolean | undefined;
}

/** The bytes of a page of a recalled result: the most that the server gives. */
const RECALL_PAGE = 1 << 20;

/** How many variables a description tells of, and the code points of each preview: the most that there are. */
const VARIABLES_ASKED = 64;
const PREVIEW_ASKED = 2000;

/** A request of which the client sets namespace and place. */
type Own<Init> = Omit<Init, "namespace" | "head" | "pageToken" | "$typeName" | "$unknown">;

/** The methods that read. */
export abstract class Reads extends Views {
  private info: ServerInfoResponse | undefined;

  /**
   * Gives a past call with its arguments and its whole result, however many pages it takes, whatever was compacted since. Errors:
   * TOOL_CALL_NOT_FOUND, NODE_NOT_FOUND, ALIAS_NOT_FOUND, INVALID_FIELD.
   */
  async recall(head: Ref, call: Recall, options?: CallOptions): Promise<RecallToolCallResponse> {
    return this.recalled(head, call, scopeOf(options));
  }

  /** @internal */
  async recalled(head: Ref, call: Recall, scope: Scope): Promise<RecallToolCallResponse> {
    const request = create(RecallToolCallRequestSchema, {
      namespace: this.namespace,
      head: nodeRef(head),
      ...(call.id !== undefined && { toolCallId: call.id }),
      place: call.place ?? "",
      occurrence: call.occurrence ?? 0,
      pageBytes: RECALL_PAGE,
      redact: call.redact ?? false,
    });
    const whole = await this.caller.read(scope, (o) => this.rpc.recallToolCall(request, o));
    while (whole.nextPageToken !== "") {
      request.pageToken = whole.nextPageToken;
      const page = await this.caller.read(scope, (o) => this.rpc.recallToolCall(request, o));
      if (page.nextPageToken === request.pageToken) {
        throw fault("BAD_REPLY", "a page leads to itself");
      }
      addParts(whole.parts, page.parts, page.continues);
      whole.nextPageToken = page.nextPageToken;
    }
    return whole;
  }

  /** Lists the run loops of a chain, newest first, asking for page after page as it goes; without a request there are no previews. */
  async *runLoops(
    head: Ref,
    request: Own<MessageInitShape<typeof ListRunLoopsRequestSchema>> = {},
    options?: CallOptions,
  ): AsyncGenerator<RunLoop, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (pageToken) => {
      const page = create(ListRunLoopsRequestSchema, {
        ...request,
        namespace: this.namespace,
        head: nodeRef(head),
        pageToken,
      });
      const reply = await this.caller.read(scope, (o) => this.rpc.listRunLoops(page, o));
      return { entries: reply.runLoops, next: reply.nextPageToken };
    });
  }

  /**
   * Finds messages, asking for page after page as it goes: give it a signal or a deadline, for a page may cost half a second and a search of many
   * chains many pages. Errors: INVALID_PATTERN, INVALID_FIELD, NODE_NOT_FOUND, ALIAS_NOT_FOUND.
   */
  async *search(request: SearchInit, options?: CallOptions): AsyncGenerator<SearchHit, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (token) => {
      const reply = await this.searched(request, token, scope);
      return { entries: reply.hits, next: reply.nextPageToken };
    });
  }

  /** One page of search, beginning at a token: "" for the first. */
  async searchPage(request: SearchInit, pageToken: string, options?: CallOptions): Promise<SearchResponse> {
    return this.searched(request, pageToken, scopeOf(options));
  }

  /** @internal */
  async searched(
    { head, aliasPrefix, text, regexp, ...rest }: SearchInit,
    pageToken: string,
    scope: Scope,
  ): Promise<SearchResponse> {
    const request = create(SearchRequestSchema, {
      ...rest,
      namespace: this.namespace,
      ...(head !== undefined && { scope: { case: "head", value: nodeRef(head) } as const }),
      ...(aliasPrefix !== undefined && { scope: { case: "aliasPrefix", value: aliasPrefix } as const }),
      ...(text !== undefined && { pattern: { case: "text", value: text } as const }),
      ...(regexp !== undefined && { pattern: { case: "regexp", value: regexp } as const }),
      pageToken,
    });
    return this.caller.read(scope, (o) => this.rpc.search(request, o));
  }

  /**
   * Gives a bounded, redacted digest of a chain's latest calls. Beside a view, pastLoopsOnly leaves out what the view shows anyway.
   */
  async replay(
    head: Ref,
    request: Own<MessageInitShape<typeof ReplayToolsRequestSchema>> = {},
    options?: CallOptions,
  ): Promise<ReplayToolsResponse> {
    const own = create(ReplayToolsRequestSchema, { ...request, namespace: this.namespace, head: nodeRef(head) });
    return this.caller.read(scopeOf(options), (o) => this.rpc.replayTools(own, o));
  }

  /** Tells the state of a chain. */
  async describe(head: Ref, request: DescribeInit = {}, options?: CallOptions): Promise<DescribeResponse> {
    return this.described(head, request, scopeOf(options));
  }

  /** @internal */
  async described(head: Ref, request: DescribeInit, scope: Scope): Promise<DescribeResponse> {
    const own = create(DescribeRequestSchema, { ...request, namespace: this.namespace, head: nodeRef(head) });
    return this.caller.read(scope, (o) => this.rpc.describe(own, o));
  }

  /**
   * Tells of variables by their names, as they are set at a head, with previews of up to 2,000 code points: of a value that has no more, the
   * whole of it. The whole of a longer one is the node's that set it (VariableInfo.setBy): nodeInfo has its metadata. Of names that are not set
   * nothing is told. Where the head is an alias that moves meanwhile, all are told as of one node. Errors: NODE_NOT_FOUND, ALIAS_NOT_FOUND,
   * INVALID_FIELD for an empty name, LIMIT_EXCEEDED for one over 252 bytes.
   */
  async variables(head: Ref, names: readonly string[], options?: CallOptions): Promise<VariableInfo[]> {
    const scope = scopeOf(options);
    const told: VariableInfo[] = [];
    let at = head;
    for (let i = 0; i < names.length; i += VARIABLES_ASKED) {
      const description = await this.described(
        at,
        {
          mode: DescribeMode.PREVIEW,
          maxItems: VARIABLES_ASKED,
          previewChars: PREVIEW_ASKED,
          variableNames: { exact: names.slice(i, i + VARIABLES_ASKED) },
        },
        scope,
      );
      told.push(...description.variables);
      at = byId(description.headId);
    }
    return told;
  }

  /**
   * Tells what the server is, what it can do, and its limits. It is asked once: the Client keeps the answer. Of a server that does not know the
   * call, since it is older, everything is empty, and it has no features.
   */
  override async serverInfo(options?: CallOptions): Promise<ServerInfoResponse> {
    this.info ??= await this.askInfo(scopeOf(options));
    return this.info;
  }

  private async askInfo(scope: Scope): Promise<ServerInfoResponse> {
    try {
      return await this.caller.read(scope, (o) => this.rpc.serverInfo({}, o));
    } catch (error) {
      if (error instanceof TranscriptError && error.code === "UNIMPLEMENTED") {
        return create(ServerInfoResponseSchema);
      }
      throw error;
    }
  }

  /**
   * Whether the server has a feature: a name of the list in docs/api.md. The Client sends a field of a feature only where its caller asks for
   * what it does; an older server's refusal is UNSUPPORTED, whose message names the feature.
   */
  async supports(feature: string, options?: CallOptions): Promise<boolean> {
    return (await this.serverInfo(options)).features.includes(feature);
  }
}

/** What to tell of a chain. */
export type DescribeInit = Own<MessageInitShape<typeof DescribeRequestSchema>>;

/** What to search for: text or regexp, in the chain of head or in all chains whose aliases begin with aliasPrefix. */
export type SearchInit = Omit<Own<MessageInitShape<typeof SearchRequestSchema>>, "scope" | "pattern"> & {
  readonly head?: Ref | undefined;
  readonly aliasPrefix?: string | undefined;
  /** In any case of its letters. */
  readonly text?: string | undefined;
  /** An RE2 pattern. */
  readonly regexp?: string | undefined;
};

/** Adds a page's parts, the first of which may go on with the text of the last. */
function addParts(parts: Part[], page: readonly Part[], continues: boolean): void {
  const last = parts.at(-1)?.kind;
  const [first, ...rest] = page;
  if (continues && last?.case === "text" && first !== undefined) {
    last.value += first.kind.case === "text" ? first.kind.value : "";
    parts.push(...rest);
    return;
  }
  parts.push(...page);
}
