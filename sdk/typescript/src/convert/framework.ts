// What is a framework's own, which no provider is sent.

import { clone } from "@bufbuild/protobuf";

import { ContentForm, MessageSchema, PartSchema, type Message } from "../gen/transcript/v1/message_pb.js";
import { compact, Value, type Member } from "../json.js";
import { isOpaque } from "../messages.js";
import { listForm } from "./content.js";
import { index, join, type Change } from "./report.js";
import { readExtras } from "./taker.js";

/** The member of extras, of messages and of parts, that holds a framework's own members. */
const FRAMEWORK = "framework";

const WHY = "is a framework's own";

/** The members of extras that hold members of another object of the provider's: of a message's extras, and of its parts'. */
export interface Inner {
  readonly message?: string;
  readonly part?: string;
}

/**
 * A message without what is a framework's own in its extras, in those of its parts, and in the inner members of both. Each that goes is noted in
 * changes. The message itself stays as it is.
 */
export function forProvider(message: Message, path: string, inner: Inner, changes: Change[]): Message {
  const extras = withoutFramework(message.extras, `${path}.extras`, inner.message, changes);
  const parts = message.parts.map((part, i) => {
    const own = withoutFramework(part.extras, `${index(`${path}.parts`, i)}.extras`, inner.part, changes);
    if (own === part.extras) {
      return part;
    }
    const copy = clone(PartSchema, part);
    copy.extras = own;
    return copy;
  });
  if (extras === message.extras && parts.every((part, i) => part === message.parts[i])) {
    return message;
  }
  const copy = clone(MessageSchema, message);
  copy.extras = extras;
  copy.parts = parts;
  if (copy.contentForm === ContentForm.UNSPECIFIED && listForm(message.parts) === ContentForm.UNSPECIFIED) {
    copy.contentForm = listForm(parts); // a text that had no other extras stays in a list
  }
  return copy;
}

/** Extras without the framework's member, at their top and in the member inner. */
function withoutFramework(extras: string, path: string, inner: string | undefined, changes: Change[]): string {
  if (!extras.includes(`"${FRAMEWORK}"`)) {
    return extras;
  }
  const before = changes.length;
  const object = readExtras(extras, path);
  const kept = object === undefined ? [] : membersWithout(object, path, inner, changes);
  if (changes.length === before) {
    return extras;
  }
  return kept.length === 0 ? "" : compact(new Value("object", "", [], kept), path);
}

function membersWithout(object: Value, path: string, inner: string | undefined, changes: Change[]): Member[] {
  const kept: Member[] = [];
  for (const { name, value } of object.members) {
    if (name === FRAMEWORK) {
      changes.push({ path: join(path, FRAMEWORK), kind: "left_out", why: WHY });
    } else if (name === inner && value.member(FRAMEWORK) !== undefined) {
      const rest = membersWithout(value, join(path, name), undefined, changes);
      if (rest.length > 0) {
        kept.push({ name, value: new Value("object", "", [], rest) });
      }
    } else {
      kept.push({ name, value });
    }
  }
  return kept;
}

/**
 * Messages in their places, without what is a framework's own. Opaque messages, which no provider is sent, stay as they are, and are noted.
 */
export function allForProvider(messages: readonly Message[], inner: Inner, changes: Change[]): Message[] {
  return messages.map((message, i) => {
    const path = index("messages", i);
    if (isOpaque(message)) {
      changes.push({ path, kind: "left_out", why: WHY });
      return message;
    }
    return forProvider(message, path, inner, changes);
  });
}

/** A message to be written, with its path. */
export interface Placed {
  readonly message: Message;
  readonly path: string;
}

/** The same without the opaque messages. */
export function withoutOpaque(messages: readonly Message[], inner: Inner, changes: Change[]): Placed[] {
  return allForProvider(messages, inner, changes).flatMap((message, i) =>
    isOpaque(message) ? [] : [{ message, path: index("messages", i) }],
  );
}
