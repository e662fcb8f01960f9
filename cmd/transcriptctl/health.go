package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
)

type healthCommand struct {
	Service    string `arg:"" optional:"" help:"The service, such as transcript.v1.TranscriptService. Default: the whole server."`
	ServerName string `placeholder:"NAME" env:"TRANSCRIPTCTL_SERVER_NAME" help:"With TLS, the name that the server's certificate must have. Default: the host of --addr."`
}

func (c *healthCommand) Help() string {
	return `A probe for containers and scripts: it asks grpc.health.v1.Health once, without a token, and ends with 0 where the answer is SERVING, with 5 where it is another, or where none comes within --timeout. Examples:

    transcriptctl health --timeout 2s
    transcriptctl health --ca ca.pem --addr localhost:7420 --server-name transcripts.example.com
    transcriptctl health transcript.v1.TranscriptService -o json`
}

// errNotServing says that a server takes no calls; its health is printed already.
var errNotServing = errors.New("the server takes no new calls")

// Run asks for the health of the server or of one of its services.
func (c *healthCommand) Run(ctx context.Context, s *session) (err error) {
	options := s.flags.anonymous()
	if c.ServerName != "" {
		options = append(options, client.WithDialOptions(grpc.WithAuthority(c.ServerName)))
	}
	conn, err := s.connectWith(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, s.flags.Timeout)
	defer cancel()
	reply, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{Service: c.Service})
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("--addr %s has no service %q: %w", s.flags.Addr, c.Service, client.Typed(err))
	}
	if err != nil {
		return client.Typed(err)
	}
	if err := s.printJSONOr(map[string]string{"status": reply.GetStatus().String()}, reply.GetStatus().String()); err != nil {
		return err
	}
	if reply.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return errNotServing
	}
	return nil
}
