package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestAuditOnAFullDisk fills the disk that an audit is on, and not that of the store. Where lines are required, writes are refused from then on, and reads
// are not, until there is room. Else writes go on, and lines wait. In both cases each acknowledged node has its line in the end, also after a kill
// in between where lines are required.
func TestAuditOnAFullDisk(t *testing.T) {
	onDisks(t, *fullDisks, "-full.disks=tmpfs:2", func(t *testing.T, kind string, megabytes int, _ uint64) {
		for _, flag := range []string{"--audit-required", "--audit-required=false"} {
			t.Run(flag, func(t *testing.T) { fillAudit(t, mountDisk(t, kind, megabytes), flag) })
		}
	})
}

func fillAudit(t *testing.T, disk, flag string) {
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	path, check, flags := auditIn(t, disk)
	flags = append(flags, "--store=memory:", flag)
	p := startProcess(t, nil, flags...)
	service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	var made []string
	put := func() error {
		reply, err := putText(callContext(t), service, strings.Repeat("x", len(made)))
		if err == nil {
			made = append(made, reply.GetNodeId())
		}
		return err
	}
	var err error
	for err == nil && !strings.Contains(p.log(), "audit cannot be written") {
		err = put()
	}
	required := flag == "--audit-required"
	if refused := status.Code(err) == codes.Unavailable || status.Code(err) == codes.Internal; refused != required || !refused && err != nil {
		t.Fatalf("%s: %v", flag, err)
	}
	if err = put(); required != (status.Code(err) == codes.Unavailable) {
		t.Errorf("%s: then %v", flag, err)
	}
	if _, err := service.GetNode(callContext(t), &transcriptv1.GetNodeRequest{Node: nodeRef(made[0])}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if required {
		p.kill()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		p = startProcess(t, nil, flags...)
	} else if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	service = transcriptv1.NewTranscriptServiceClient(p.dial(t))
	for end := time.Now().Add(20 * time.Second); put() != nil; {
		if time.Now().After(end) {
			t.Fatal("puts are refused though there is room")
		}
	}
	p.terminate(t)
	verdict, err := check.Verify(auditFiles(t, path))
	text := ""
	for _, file := range auditFiles(t, path) {
		content, readErr := os.ReadFile(file)
		text, err = text+string(content), errors.Join(err, readErr)
	}
	if err != nil || verdict.Lost != 0 {
		t.Errorf("%+v, %v", verdict, err)
	}
	for _, id := range made {
		if !strings.Contains(text, id) {
			t.Fatalf("node %s was acknowledged, and has no line", id)
		}
	}
	t.Logf("%d nodes, %+v", len(made), verdict)
}
