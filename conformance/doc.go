// Package conformance is a public kit: it holds any server of transcript.v1 to what docs/api.md, docs/views.md and the comments of
// the contract promise, as far as it can be seen from outside. It knows no server and no engine: it has a connection and nothing else.
//
//	conn, err := grpc.NewClient(addr, …)
//	summary, err := conformance.Run(ctx, conn, conformance.Options{Report: func(r conformance.Result) { fmt.Println(r) }})
//
// A Check is one promise. Checks run at once, in two namespaces of the kit's own with random names, and touch no other. At the end
// the kit deletes its aliases; its nodes stay there, since no call deletes nodes.
//
// What a check says of a failure is what it expected and what it got: ids, counts, codes, and messages as the letters of docs/views.md.
// It tells no text that the kit did not put.
package conformance
