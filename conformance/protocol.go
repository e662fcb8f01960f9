package conformance

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

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
		p.describes(reply.GetFileDescriptorResponse().GetFileDescriptorProto(), file.Services().Get(0))
	}
	p.ok(s.CloseSend(), "ServerReflectionInfo")
}

// describes holds that one of the files has the service with the rpcs that the kit knows; a newer server may have more.
func (p *probe) describes(files [][]byte, service protoreflect.ServiceDescriptor) {
	methods := map[string]string{}
	for _, b := range files {
		file := &descriptorpb.FileDescriptorProto{}
		p.holds(proto.Unmarshal(b, file) == nil, "a file of reflection that parses")
		for _, s := range file.GetService() {
			for _, m := range s.GetMethod() {
				methods[file.GetPackage()+"."+s.GetName()+"."+m.GetName()] = m.GetInputType() + " " + m.GetOutputType()
			}
		}
	}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		is(p, "request and reply of "+string(m.FullName()), methods[string(m.FullName())], "."+string(m.Input().FullName())+" ."+string(m.Output().FullName()))
	}
}

func unknownMethod(p *probe) {
	err := p.raw(transcriptService+"NoSuchMethod", nil, &transcriptv1.PutNodeResponse{})
	is(p, "code", status.Code(err), codes.Unimplemented)
}
