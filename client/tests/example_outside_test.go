package client_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Which message of the platform is this? Nodes tell the metadata that they were put with.
func ExampleQuery_facts() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	_, err = chat.AppendNode(ctx, client.Node{
		Messages: []*transcriptv1.Message{client.User("Hello.")}, Metadata: map[string]string{"message_id": "1001"},
	})
	check(err)

	a, err := c.Assemble(ctx, client.ByAlias(chat.Alias()), client.Query{
		Facts: &transcriptv1.NodeFacts{MetadataKeys: []string{"message_id"}},
	})
	check(err)
	for _, n := range a.Nodes {
		fmt.Println(n.MessageCount, "message")
		for _, e := range n.Metadata {
			fmt.Println(" ", e.Key, e.Value)
		}
	}

	fmt.Println(a.Nodes[0].FirstPutAt.IsValid())
	// Output:
	// 1 message
	// 1 message
	//   message_id 1001
	// true
}

// A guard that ends runs behind which nothing was put for an hour.
func ExampleClient_StaleRuns() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	check(chat.Append(ctx, client.User("Hello.")))

	for run, err := range c.StaleRuns(ctx, client.AliasesWithPrefix("chat/"), time.Hour) {
		check(err)
		_, err = c.EndRun(ctx, run, client.Cancelled)
		if errors.Is(err, client.ErrAliasMoved) {
			continue // somebody works on
		}
		check(err)
	}

	for run, err := range c.AliasRuns(ctx, client.AliasesWithPrefix("chat/"), true) {
		check(err)
		fmt.Println(run.Name, "is open, idle for an hour:", run.Idle() > time.Hour)
	}
	// Output:
	// chat/42 is open, idle for an hour: false
}

// A label that counts, whoever else counts in it.
func ExampleRevisionIs() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)

	for counted := false; !counted; {
		now, err := c.Resolve(ctx, chat.Alias())
		check(err)
		seen, _ := strconv.Atoi(now.Alias.Labels["seen"])
		set, err := c.SetAliases(ctx, client.AliasMove{
			Name: chat.Alias(), Target: client.ByAlias(chat.Alias()), If: client.RevisionIs(now.Alias.Revision),
			Labels: map[string]string{"seen": strconv.Itoa(seen + 1)},
		})
		if errors.Is(err, client.ErrAliasMoved) {
			continue // somebody changed it since
		}
		check(err)
		counted = set[0].Revised // false: somebody counted the same
	}

	now, err := c.Resolve(ctx, chat.Alias())
	check(err)
	fmt.Println(now.Alias.Labels["seen"], now.Alias.Revision)
	// Output: 1 2
}

// Quotas of a namespace, set by who saw what they were.
func ExampleClient_SetNamespace() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()

	stats, err := c.Stats(ctx)
	check(err)
	quotas := &transcriptv1.NamespaceSettings{MaxNodes: 100_000, MaxMessageBytes: 1 << 30}
	_, err = c.SetNamespace(ctx, quotas, &stats.SettingsRevision)
	check(err) // ErrSettingsChanged: somebody else was first

	for name, err := range c.Namespaces(ctx) {
		check(err)
		fmt.Println(name)
	}
	// Output:
	// default
}

// What was said with metadata of a person is erased, and receipted; the chat stays.
func ExampleClient_Erase() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()

	chat, err := c.Chat(ctx, "42", client.System("You are a helpful agent."))
	check(err)
	_, err = chat.AppendNode(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("I am Ann.")}, Metadata: map[string]string{"subject": "42"}})
	check(err)

	var erased []string
	what := client.Erasure{Metadata: &transcriptv1.EntrySelector{Key: "subject", Value: "42"}, Reference: "T-1042", WaitForFiles: true}
	for report, err := range c.Erase(ctx, what) {
		check(err)
		for _, node := range report.Nodes {
			erased = append(erased, node.NodeId)
		}
	}
	receipts, err := c.Receipts(ctx, erased...) // 1,000 ids at most
	check(err)
	for _, receipt := range receipts {
		says, err := canonical.CheckReceipt(receipt.Receipt)
		check(err) // ErrReceipt: its key has not signed it
		fmt.Println(says.Reference, receipt.PurgedAt != nil)
	}
	// Output:
	// T-1042 true
}

// What nobody refers to is counted, and the history of an alias forgotten, so that a collection takes what it kept.
func ExampleClient_CollectGarbage() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()

	chat, err := c.Chat(ctx, "42", client.System("You are a helpful agent."))
	check(err)
	_, err = c.ForgetAlias(ctx, chat.Alias(), client.HeadIs(chat.Head()))
	check(err)

	what := client.Collection{DryRun: true, Grace: new(time.Duration)} // no grace: nobody writes here
	for report, err := range c.CollectGarbage(ctx, what) {
		check(err)
		if report.Done {
			fmt.Println("would go:", report.Nodes)
		}
	}

	what.DryRun = false
	for report, err := range c.CollectGarbage(ctx, what) {
		check(err)
		if report.Done {
			fmt.Println("went:", report.Nodes)
		}
	}
	// Output:
	// would go: 1
	// went: 1
}
