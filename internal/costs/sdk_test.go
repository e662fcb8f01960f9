//go:build !race

package costs

import (
	"context"

	"github.com/transcriptd/transcriptd/client"
)

// sdkReads are reads by the SDK, of rows that are kept: what the engine takes where they are not, other programs tell.
func (c *conversations) sdkReads(r *rig) []*program {
	head, before := client.ByAlias(c.long.name), c.long.ids[len(c.long.ids)-2]
	plain := client.New(r.conn)
	assemble := func(name string, of *client.Client, q client.Query, decode bool) *program {
		p := &program{name: "SDK: Assemble, " + name, calls: 3, next: using(func(ctx context.Context) (int64, error) {
			a, err := of.Assemble(ctx, head, q)
			if err == nil && decode {
				_, err = a.Messages()
			}
			if err != nil {
				return 0, err
			}
			return a.Bytes(), nil
		})}
		if q.After == "" {
			p.buffers = aheadBuffers
		}
		return p
	}
	return []*program{
		assemble("1000 turns", plain, client.Query{}, false),
		assemble("1000 turns, decoded", plain, client.Query{}, true),
		assemble("1000 turns, verified", client.New(r.conn, client.WithVerification()), client.Query{}, false),
		assemble("after one turn ago of 1000", plain, client.Query{After: before}, false),
	}
}

// sdkPut puts the next turn of a chain with the SDK, with a salt, as a Thread does.
func (c *conversations) sdkPut(r *rig) *program {
	sdk := client.New(r.conn)
	return &program{name: "SDK: Put, a turn and its alias", calls: 8, next: using(func(ctx context.Context) (int64, error) {
		before := c.bySDK.head()
		node := c.bySDK.next()
		_, err := sdk.Put(ctx, client.Node{
			Parent: client.ByID(before), Messages: node.Messages, Salt: node.Salt,
			Aliases: []client.AliasUpdate{{Name: c.bySDK.name, If: client.HeadIs(before)}},
		})
		return 0, err
	})}
}

func using(sdk func(context.Context) (int64, error)) func() call {
	return func() call { return call{sdk: sdk} }
}
