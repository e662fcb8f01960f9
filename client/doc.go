// Package client is the Go SDK of transcriptd. Client has a method for each rpc; Thread wraps them into what an agent
// does in a turn: start from the message it answers, read the messages to send, append what was said, finish.
// docs/sdk.md shows how they go together.
//
//   - A turn: Client.Start, Thread.Messages, Append, AppendResults, Sent, Reply or Finish; after a crash Client.Resume. Client.Chat for a
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
// for a stream (WithDeadline, WithIdle). Every error is an *Error, but for those of the caller's own functions
// (Trigger.Summarize); errors.Is matches it with its Reason: ErrAliasMoved and its like.
//
// # Who calls
//
// WithTokenFile and WithToken show a token with each call, WithCA and WithClientCertificate speak TLS by files, WithTLS in any other way.
// Files are read again, so that new ones need no new Client. Neither transcripts nor tokens go in plain text to another machine, unless
// WithInsecure is given.
//
// # Retries
//
// While the server is unavailable or overloaded calls are repeated until their deadline, with growing pauses (WithRetry). Of an
// attempt that was never sent, or refused as OVERLOADED or DRAINING, it is known that it has done nothing: then any call is
// repeated. Where a reply was lost the call may have taken place, and only these are: every read; a put whose parents are
// absent, node ids, the node before, or aliases that the same call conditions on a head, and which names no alias, or sets one with
// MustNotExist or HeadIs, or has one with RevisionIs or HeadAt, or does no more to aliases than delete them with HeadIs; Compact with
// Through; SetAliases if each move has RevisionIs or HeadAt, and a node id or itself as target, or MustNotExist or HeadIs, a node id as
// target, and no labels, or is a delete with HeadIs, RevisionIs or HeadAt; DeleteAlias with one of these three; DeleteAliases. A repeat of any other
// could undo what others did since, or do it twice.
//
// A precondition without a revision also holds where the alias already points to the node that the call would set it to, one with a
// revision also at the next revision where the alias is as the call leaves it. So a repeat of a call whose reply was lost succeeds with
// the same node; but its created, changed and revised are then false although an earlier attempt of this very call wrote. PutResult tells by Retried that this may be so. The server knows the repeat of such a put and leaves
// the aliases that it has set, those without a precondition too, where others moved them.
//
// # Salts
//
// Every append of a Thread, what begins one, and every compaction has a salt of 16 random bytes, chosen once and kept over its repeats; a
// root of system and developer messages alone has none. So conversations that say the same are apart unless they fork, of equal
// appends at once exactly one is first, and an append whose reply was lost is known by its node. MayHaveHappened tells whether a call
// that failed may have taken place; made again on the same Thread (Start, Spawn and Compact: on the same Client) it finds out. Put and PutAll
// put what they are given. Deterministic leaves salts out.
//
// A root without a salt that was erased is refused to everybody who begins with it (ErrPayloadErased). Start and Chat then put theirs with a
// salt. An append that was erased is not put again: its repeat fails with ErrPayloadErased.
package client
