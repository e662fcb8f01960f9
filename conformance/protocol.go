package conformance

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func protocolChecks() []Check {
	return []Check{
		{ID: "protocol/health", Promise: "the health service says SERVING", run: health},
		{ID: "protocol/reflection", Promise: "reflection lists the services, and describes each rpc with its requests and replies", run: reflection},
		{ID: "protocol/unknown-method", Promise: "an rpc that the server does not have is UNIMPLEMENTED", run: unknownMethod},
	}
}

func health(p *probe) {
	r, err := grpc_health_v1.NewHealthClient(p.calls).Check(p.ctx, &grpc_health_v1.HealthCheckRequest{})
	p.ok(err, "Health.Check")
	is(p, "status", r.GetStatus(), grpc_health_v1.HealthCheckResponse_SERVING)
}

func reflection(p *probe) {
	s, err := reflectionv1.NewServerReflectionClient(p.calls).ServerReflectionInfo(p.ctx)
	p.ok(err, "ServerReflectionInfo")
	ask := func(r *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		p.ok(s.Send(r), "ServerReflectionInfo")
		reply, err := s.Recv()
		p.ok(err, "ServerReflectionInfo")
		return reply
	}
	var listed []string
	for _, service := range ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		listed = append(listed, service.GetName())
	}
	for _, file := range []protoreflect.FileDescriptor{transcriptv1.File_transcript_v1_transcript_service_proto, transcriptv1.File_transcript_v1_admin_service_proto} {
		name := string(file.Services().Get(0).FullName())
		p.holds(slices.Contains(listed, name), "the service %s to be listed", name)
		reply := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
		p.holds(len(reply.GetFileDescriptorResponse().GetFileDescriptorProto()) > 0, "the file of %s", name)
	}
	p.ok(s.CloseSend(), "ServerReflectionInfo")
}

func unknownMethod(p *probe) {
	err := p.raw(transcriptService+"NoSuchMethod", nil, &transcriptv1.PutNodeResponse{})
	is(p, "code", status.Code(err), codes.Unimplemented)
}
