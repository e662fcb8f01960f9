// The policies that have names. What fields of them are, the server says, and reports tell it (Report.policy). A field that the caller sets goes
// before them.

import { create } from "@bufbuild/protobuf";

import { PolicySchema, Preset, type Policy } from "./gen/transcript/v1/transcript_service_pb.js";

function preset(preset: Preset): Policy {
  return create(PolicySchema, { preset });
}

/** The policy for chats: the server's defaults by name, which hold where there is no policy too. */
export function chat(): Policy {
  return preset(Preset.CHAT);
}

/** The policy for agents that work with tools: chat in which old tool results become lines, all but the newest few, once that pays. */
export function coding(): Policy {
  return preset(Preset.CODING);
}

/** coding for tasks that look back more: it keeps more results. */
export function long(): Policy {
  return preset(Preset.LONG);
}

/**
 * The cheapest policy: it keeps the fewest results, and shortens the arguments of the calls before them. A model may come to write what it so
 * sees in its own past calls.
 */
export function frugal(): Policy {
  return preset(Preset.FRUGAL);
}

/** The policy that bounds nothing. */
export function unbounded(): Policy {
  return preset(Preset.UNBOUNDED);
}
