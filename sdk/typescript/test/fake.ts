// A service in the test's own process: what it answers is the test's.

import { create, toBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";

import { ErrorInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";

/** What answers a call: a reply, or several of a stream, or an error that it throws. */
export type Answer = (
  request: unknown,
  call: { readonly method: string; readonly signal: AbortSignal | undefined; readonly header: Headers },
) => unknown;

/** A transport to a service whose methods are answered so. `calls` has the names of those that were called. */
export class Fake implements Transport {
  readonly calls: string[] = [];

  constructor(private readonly answers: Readonly<Record<string, Answer>>) {}

  private async answer(
    method: string,
    signal: AbortSignal | undefined,
    header: HeadersInit | undefined,
    request: unknown,
  ): Promise<unknown> {
    this.calls.push(method);
    const answer = this.answers[method];
    if (answer === undefined) {
      throw refusal(Code.Unimplemented);
    }
    return await answer(request, { method, signal, header: new Headers(header) });
  }

  unary: Transport["unary"] = async (method, signal, _, header, input) => {
    const request = create(method.input, input);
    const reply = await this.answer(method.name, signal, header, request);
    const answered: UnaryResponse = {
      stream: false,
      service: method.parent,
      method,
      header: new Headers(),
      trailer: new Headers(),
      message: create(method.output as DescMessage, reply as MessageShape<DescMessage>),
    };
    return answered as never;
  };

  stream: Transport["stream"] = async (method, signal, _, header, input) => {
    const first = await input[Symbol.asyncIterator]().next();
    const replies = (await this.answer(method.name, signal, header, first.value)) as
      AsyncIterable<never> | Iterable<never>;
    return {
      stream: true,
      service: method.parent,
      method,
      header: new Headers(),
      trailer: new Headers(),
      message: (async function* () {
        for await (const reply of replies) {
          yield create(method.output, reply);
        }
      })(),
    };
  };
}

/** An error as a server sends it: with headers, and a reason if there is one. */
export function refusal(code: Code, reason = "", details: { desc: DescMessage; value: object }[] = []): ConnectError {
  const info = reason === "" ? [] : [{ desc: ErrorInfoSchema, value: { reason, domain: "transcript.v1" } }];
  const error = new ConnectError("said", code, { "grpc-status": String(code) });
  error.details = [...info, ...details].map(({ desc, value }) => ({
    type: desc.typeName,
    value: toBinary(desc, create(desc, value as MessageShape<DescMessage>)),
  }));
  return error;
}

/** What a transport throws where the connection breaks: nothing of it came from a server. */
export function broken(): ConnectError {
  return new ConnectError("read ECONNRESET", Code.Aborted);
}
