// Package access says which role each method of the service needs of who calls it, and judges callers by their grants: a Guard is asked
// when the request headers of a call have come, and again once its request is decoded. What has no row in the table of methods is not served.
package access

import (
	"fmt"
	"slices"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha" // that old clients ask for
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// Kind says which calls have a method's requests in common memory, and what else they have in common.
type Kind int

const (
	// Writes are calls that wait for a commit.
	Writes Kind = iota + 1
	// Reads are all others of the service and of its administration.
	Reads
	// Health is told to the end, also while the server drains, and to anybody; its replies are tiny.
	Health
	// Reflection tells of the contract, and nothing of the store.
	Reflection
)

// Method is a row of the table of methods.
type Method struct {
	// Role is what a caller needs, each of them where there are several, on the namespace of the request, and on the whole store where the request is about that, or about no
	// namespace; known: nothing but to be known.
	Role identity.Role
	Kind Kind
	// Namespace is the field of the request that has the namespace; empty: the request is about none.
	Namespace string
	// ScopedBy is the field, a transcriptv1.Scope, that says whether the request is about a namespace or the whole store; empty: there is none.
	ScopedBy string
}

// namespace is the field that every request about a namespace has.
const namespace = "namespace"

// forgets is the field of a request that takes away for good what was put: with it a call needs the role erase, too.
const forgets = "forget_history"

// known is no role: whoever is known may call.
const known identity.Role = 0

// methods is the table of methods, by full name.
var methods = map[string]*Method{
	transcriptv1.TranscriptService_PutNode_FullMethodName:          {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_PutNodes_FullMethodName:         {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_PutArchivedNodes_FullMethodName: {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_Alias_FullMethodName:            {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_DeleteAlias_FullMethodName:      {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_DeleteAliases_FullMethodName:    {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_Compact_FullMethodName:          {identity.Append, Writes, namespace, ""},
	transcriptv1.TranscriptService_GetNode_FullMethodName:          {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_GetNodes_FullMethodName:         {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_Assemble_FullMethodName:         {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_StreamAssemble_FullMethodName:   {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ListChildren_FullMethodName:     {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ListRunLoops_FullMethodName:     {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_RecallToolCall_FullMethodName:   {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ReplayTools_FullMethodName:      {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_Search_FullMethodName:           {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_Describe_FullMethodName:         {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ResolveAlias_FullMethodName:     {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ListAliases_FullMethodName:      {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ListAliasHistory_FullMethodName: {identity.Read, Reads, namespace, ""},
	transcriptv1.TranscriptService_ListNamespaces_FullMethodName:   {known, Reads, "", ""}, // lists what the caller may read
	transcriptv1.TranscriptService_ServerInfo_FullMethodName:       {known, Reads, "", ""},

	transcriptv1.AdminService_NamespaceStats_FullMethodName:  {identity.Operate, Reads, namespace, ""},
	transcriptv1.AdminService_SetNamespace_FullMethodName:    {identity.Admin, Writes, namespace, ""},
	transcriptv1.AdminService_Verify_FullMethodName:          {identity.Operate, Reads, namespace, "scope"},
	transcriptv1.AdminService_Backup_FullMethodName:          {identity.Backup, Reads, namespace, "scope"},
	transcriptv1.AdminService_Restore_FullMethodName:         {identity.Admin, Writes, namespace, ""},
	transcriptv1.AdminService_CollectGarbage_FullMethodName:  {identity.Admin, Reads, namespace, "scope"},
	transcriptv1.AdminService_DeleteNamespace_FullMethodName: {identity.Admin | identity.Erase, Writes, namespace, ""},
	transcriptv1.AdminService_Erase_FullMethodName:           {identity.Erase, Reads, namespace, ""},
	transcriptv1.AdminService_GetReceipts_FullMethodName:     {identity.Read, Reads, namespace, ""},

	healthv1.Health_Check_FullMethodName: {known, Health, "", ""},
	healthv1.Health_List_FullMethodName:  {known, Health, "", ""},
	healthv1.Health_Watch_FullMethodName: {known, Health, "", ""},

	reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName:      {known, Reflection, "", ""},
	reflectionv1alpha.ServerReflection_ServerReflectionInfo_FullMethodName: {known, Reflection, "", ""},
}

// open tells whether anybody may call, who is not known too.
func (m *Method) open() bool { return m.Kind == Health }

// Find is the row of a method; nil where there is none.
func Find(method string) *Method { return methods[method] }

// IsWrite tells whether calls of a method wait for a commit.
func IsWrite(method string) bool {
	m := methods[method]
	return m != nil && m.Kind == Writes
}

// IsHealth tells whether a method is of health.
func IsHealth(method string) bool {
	m := methods[method]
	return m != nil && m.Kind == Health
}

// Check refuses a method of a service that has no row, or one that does not fit its request.
func Check(service, method string) (*Method, error) {
	m := methods["/"+service+"/"+method]
	if m == nil {
		return nil, fmt.Errorf("method %s of %s has no row in the table of methods", method, service)
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return nil, fmt.Errorf("method %s of %s: %w", method, service, err)
	}
	declared, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no method", service, method)
	}
	fields := declared.Input().Fields()
	has := func(name string, kind protoreflect.Kind) bool {
		f := fields.ByName(protoreflect.Name(name))
		return f != nil && f.Kind() == kind && f.Cardinality() != protoreflect.Repeated
	}
	switch {
	case m.Namespace == "" && (fields.ByName(namespace) != nil || fields.ByName(forgets) != nil),
		fields.ByName(forgets) != nil && !has(forgets, protoreflect.BoolKind),
		m.Namespace != "" && !has(m.Namespace, protoreflect.StringKind),
		m.ScopedBy != "" && !has(m.ScopedBy, protoreflect.EnumKind),
		m.ScopedBy != "" && fields.ByName(protoreflect.Name(m.ScopedBy)).Enum().FullName() != transcriptv1.Scope(0).Descriptor().FullName():
		return nil, fmt.Errorf("the row of method %s of %s does not fit its request", method, service)
	}
	return m, nil
}

// Scope is what of the store a request is about.
type Scope struct {
	// Namespace is the namespace's name as the request has it; empty where it has none.
	Namespace string
	// All says that it is about every namespace.
	All bool
	// Forgets says that it takes away for good what was put.
	Forgets bool
}

// Scope is what a request of the method is about.
func (m *Method) Scope(req proto.Message) (s Scope) {
	if m.Namespace == "" {
		return s
	}
	r := req.ProtoReflect()
	fields := r.Descriptor().Fields()
	if f := fields.ByName(forgets); f != nil {
		s.Forgets = r.Get(f).Bool()
	}
	if archived, is := req.(*transcriptv1.PutArchivedNodesRequest); is {
		s.Forgets = slices.ContainsFunc(archived.GetNodes(), func(n *transcriptv1.ArchivedNode) bool { return n.GetErasure() != nil })
	}
	if restored, is := req.(*transcriptv1.RestoreRequest); is {
		s.Forgets = len(restored.GetReceipts()) > 0
	}
	s.Namespace = r.Get(fields.ByName(protoreflect.Name(m.Namespace))).String()
	if m.ScopedBy != "" {
		scope := transcriptv1.Scope(r.Get(fields.ByName(protoreflect.Name(m.ScopedBy))).Enum())
		s.All = scope != transcriptv1.Scope_SCOPE_UNSPECIFIED && scope != transcriptv1.Scope_SCOPE_NAMESPACE
	}
	return s
}
