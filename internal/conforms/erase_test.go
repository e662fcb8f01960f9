package conforms

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erases breaks erasures by what is asked of the server.
func erases(how func(q *transcriptv1.EraseRequest)) func() breaks {
	return func() breaks { return breaks{erase: how} }
}

// erasesTold breaks them by what the server tells.
func erasesTold(how func(r *transcriptv1.EraseResponse)) func() breaks {
	return func() breaks { return breaks{erased: how} }
}

// receipts breaks GetReceipts by what the server tells of each.
func receipts(how func(r *transcriptv1.NodeReceipt)) func() breaks {
	return on(func(c *call, q *transcriptv1.GetReceiptsRequest, r *transcriptv1.GetReceiptsResponse) error {
		err := c.send(q)
		for _, one := range r.GetReceipts() {
			how(one)
		}
		return err
	})
}

func eraseViolations() []violation {
	return []violation{
		{"a dry run erases", "erase/marks", erases(func(q *transcriptv1.EraseRequest) { q.DryRun = false })},
		{"nothing is erased", "erase/marks", erases(func(q *transcriptv1.EraseRequest) { q.DryRun = true })},
		{"erased messages are not counted", "erase/marks", erasesTold(func(r *transcriptv1.EraseResponse) { r.Messages = 0 })},
		{"no report of an erasure is the last", "erase/marks", erasesTold(func(r *transcriptv1.EraseResponse) { r.Done = false })},
		{"nodes are not listed", "erase/finds", erasesTold(func(r *transcriptv1.EraseResponse) { r.Nodes = nil })},
		{"a shared root is erased", "erase/refused", erases(func(q *transcriptv1.EraseRequest) { q.SharedRoots = transcriptv1.SharedRoots_SHARED_ROOTS_ERASE })},
		{"a reference has a line break", "erase/refused", erases(func(q *transcriptv1.EraseRequest) {
			if q.Reference == "a\nb" {
				q.Reference = ""
			}
		})},
		{"a signature is not of the receipt", "get-receipts/signed", receipts(func(r *transcriptv1.NodeReceipt) { r.Receipt.Receipt = append(r.Receipt.Receipt, 0) })},
		{"a receipt never tells of files", "get-receipts/signed", receipts(func(r *transcriptv1.NodeReceipt) { r.PurgedAt = nil })},
	}
}
