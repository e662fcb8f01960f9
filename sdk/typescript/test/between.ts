// A transport that changes what passes.

import { fromBinary, toBinary, type Message } from "@bufbuild/protobuf";
import { ConnectError, type StreamRequest, type Transport, type UnaryRequest } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";

/** What is asked for each request, or reply, of a method, and gives what passes in its place. */
export type Change = (method: string, passing: Message) => Message;

/** A way to a service. `requests` and `replies` change what passes, `bytes` the encoding of a reply. */
export class Between implements Transport {
  requests: Change = (_, request) => request;
  replies: Change = (_, reply) => reply;
  bytes: (encoded: Uint8Array) => Uint8Array = (encoded) => encoded;
  private readonly transport: Transport;

  constructor(target: string) {
    this.transport = createGrpcTransport({ baseUrl: `http://${target}` });
  }

  /** Changes what passes while something is done. */
  async while<T>(change: Partial<Pick<Between, "requests" | "replies" | "bytes">>, done: () => Promise<T>): Promise<T> {
    const { requests, replies, bytes } = this;
    Object.assign(this, change);
    try {
      return await done();
    } finally {
      Object.assign(this, { requests, replies, bytes });
    }
  }

  private changed(method: UnaryRequest["method"] | StreamRequest["method"], reply: Message): Message {
    const told = this.replies(method.name, reply);
    const encoded = toBinary(method.output, told);
    try {
      return fromBinary(method.output, this.bytes(encoded));
    } catch {
      throw new ConnectError("parse binary: it is cut off");
    }
  }

  unary: Transport["unary"] = async (method, signal, timeoutMs, header, input, values) => {
    const sent = this.requests(method.name, input as Message);
    const answered = await this.transport.unary(method, signal, timeoutMs, header, sent as never, values);
    return { ...answered, message: this.changed(method, answered.message) as never };
  };

  stream: Transport["stream"] = async (method, signal, timeoutMs, header, input, values) => {
    const change = this.requests;
    const sent = (async function* () {
      for await (const request of input) {
        yield change(method.name, request as Message);
      }
    })();
    const opened = await this.transport.stream(method, signal, timeoutMs, header, sent as never, values);
    const changed = (reply: Message): never => this.changed(method, reply) as never;
    return {
      ...opened,
      message: (async function* () {
        for await (const reply of opened.message) {
          yield changed(reply);
        }
      })(),
    };
  };
}
