// Package client is the Go SDK of transcriptd. Client has a method for each rpc; Thread wraps them into what an agent
// does in a turn: start from the message it answers, read the messages to send, append what was said, finish.
// docs/sdk.md shows how they go together.
//
//   - A turn: Client.Start, Thread.Messages, Append, AppendResults, Finish; after a crash Client.Resume. Client.Chat for a
//     conversation by name.
//   - What is sent: Thread.Messages with a policy or without; Client.Assemble and Query for any view of any chain.
//   - Compaction: Thread.Compact, and Thread.CompactWhen, which decides when. Writers and compactions are in nobody's way.
//   - What a model no longer sees: Thread.RecallTool and SearchTool for the model; Client.Recall, Search, RunLoops, Replay
//     and Describe for the agent.
//   - Subagents: Thread.Spawn.
//
// Node ids are 64 lower-case hex digits in a string, as on the wire. A Ref names a node by id or alias. Replies are the
// generated types of the contract where those read well.
//
// Every call has a deadline: the caller's, or where the context has none, 30 s for a call and 30 s between two frames
// for a stream (WithDeadline, WithIdle). Errors are *Error; errors.Is matches them with ErrAliasMoved and its like.
//
// # Retries
//
// A call that may be repeated is, while the server is unavailable or overloaded: every read; a put whose parents are
// absent, node ids, the node before, or aliases that the same call conditions on a head; Compact; Alias with node ids as
// targets; DeleteAlias unless the alias must exist. Nothing else is ever sent twice. A precondition also holds where the
// alias already points to the node that the call would set it to, so a repeat of a call whose reply was lost succeeds
// with the same node; but its created and changed are then false although an earlier attempt of this very call wrote.
// PutResult tells by Retried that this may be so. A repeat of a Compact that took place finds nothing left to save;
// Thread.Compact finds the node all the same.
package client
