package example;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.security.SecureRandom;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import transcript.v1.MessageOuterClass.Message;
import transcript.v1.MessageOuterClass.Part;
import transcript.v1.MessageOuterClass.Role;
import transcript.v1.Node.NodeEnvelope;
import transcript.v1.Node.Payload;
import transcript.v1.TranscriptServiceGrpc;
import transcript.v1.TranscriptServiceGrpc.TranscriptServiceBlockingStub;
import transcript.v1.TranscriptServiceOuterClass.AliasConflicts;
import transcript.v1.TranscriptServiceOuterClass.AliasPrecondition;
import transcript.v1.TranscriptServiceOuterClass.AliasUpdate;
import transcript.v1.TranscriptServiceOuterClass.AssembleRequest;
import transcript.v1.TranscriptServiceOuterClass.NodeRef;
import transcript.v1.TranscriptServiceOuterClass.PutNodeRequest;
import transcript.v1.TranscriptServiceOuterClass.PutNodeResponse;
import transcript.v1.TranscriptServiceOuterClass.View;

/** Puts a user's message and a reply, and reads them as a model is sent them. */
public final class Turn {
  private static final Set<String> LATER = Set.of("OVERLOADED", "DRAINING", "IDENTITY_UNAVAILABLE", "RATE_LIMITED");

  private final TranscriptServiceBlockingStub service;

  private Turn(TranscriptServiceBlockingStub service) {
    this.service = service;
  }

  public static void main(String[] arguments) throws InterruptedException {
    ManagedChannel channel =
        Grpc.newChannelBuilder(arguments[0], InsecureChannelCredentials.create())
            .disableRetry() // what may be repeated is for put to decide
            .maxInboundMessageSize(64 << 20)
            .build();
    try {
      new Turn(TranscriptServiceGrpc.newBlockingStub(channel)).run("chat/" + Long.toHexString(new SecureRandom().nextLong()));
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private void run(String chat) throws InterruptedException {
    PutNodeRequest first = append("", chat, message(Role.ROLE_USER, "Will it rain?"));
    String head = put(first).getNodeId();
    check(head.equals(nodeId("", first)), "the id is the one that the client computes");
    check(put(first).getNodeId().equals(head), "a repeat finds the node that it has put");

    PutNodeRequest reply = append(head, chat, message(Role.ROLE_ASSISTANT, "Yes, from noon."));
    String replied = put(reply).getNodeId();
    check(replied.equals(nodeId(head, reply)), "so is that of a child");

    try {
      put(append(head, chat, message(Role.ROLE_ASSISTANT, "No.")));
      throw new IllegalStateException("another writer was not refused");
    } catch (StatusRuntimeException e) {
      check("ALIAS_MOVED".equals(reason(e)), "another writer is refused");
      check(conflicts(e).getConflicts(0).getNodeId().equals(replied), "and is told where the alias is");
    }

    AssembleRequest request =
        AssembleRequest.newBuilder().setHead(NodeRef.newBuilder().setAlias(chat)).setView(View.VIEW_EFFECTIVE).build();
    for (Message m : service.withDeadlineAfter(30, TimeUnit.SECONDS).assemble(request).getMessagesList()) {
      System.out.println(m.getRole() + ": " + m.getParts(0).getText());
    }
  }

  private static Message message(Role role, String text) {
    return Message.newBuilder().setRole(role).addParts(Part.newBuilder().setText(text)).build();
  }

  /** An append to the node of an id, or the beginning of a chain, that moves an alias. It may be repeated: docs/api.md, "Retries". */
  private static PutNodeRequest append(String parent, String alias, Message message) {
    byte[] salt = new byte[16]; // the same in every repeat
    new SecureRandom().nextBytes(salt);
    AliasPrecondition.Builder precondition = AliasPrecondition.newBuilder();
    PutNodeRequest.Builder request = PutNodeRequest.newBuilder();
    if (parent.isEmpty()) {
      precondition.setMustNotExist(true);
    } else {
      precondition.setHeadId(parent);
      request.setParent(NodeRef.newBuilder().setNodeId(parent));
    }
    return request
        .setSalt(ByteString.copyFrom(salt))
        .addMessages(message)
        .addAliases(AliasUpdate.newBuilder().setName(alias).setPrecondition(precondition))
        .build();
  }

  /** The id of the node that a request puts: one without metadata, under the node of an id. */
  private static String nodeId(String parent, PutNodeRequest request) {
    Payload payload = Payload.newBuilder().addAllMessages(request.getMessagesList()).build();
    return Identity.nodeId(
        NodeEnvelope.newBuilder()
            .setPayloadDigest(Identity.payloadDigest(request.getSalt(), payload))
            .setParent(Identity.bytes(parent))
            .build());
  }

  /** Puts a node, and repeats the call after growing random pauses where that can help. */
  private PutNodeResponse put(PutNodeRequest request) throws InterruptedException {
    for (long pause = 50; ; pause *= 2) {
      try {
        return service.withDeadlineAfter(30, TimeUnit.SECONDS).putNode(request);
      } catch (StatusRuntimeException e) {
        String reason = reason(e);
        boolean later = reason.isEmpty() ? e.getStatus().getCode() == Status.Code.UNAVAILABLE : LATER.contains(reason);
        if (!later || pause > 2000) {
          throw e;
        }
        Thread.sleep(ThreadLocalRandom.current().nextLong(pause / 2, pause));
      }
    }
  }

  /** The reason of an error, or "" where it has none: what answered is no server of transcriptd, or nothing did. */
  private static String reason(StatusRuntimeException e) {
    ErrorInfo info = detail(e, ErrorInfo.class);
    return info == null || !info.getDomain().equals("transcript.v1") ? "" : info.getReason();
  }

  private static AliasConflicts conflicts(StatusRuntimeException e) {
    AliasConflicts conflicts = detail(e, AliasConflicts.class);
    return conflicts == null ? AliasConflicts.getDefaultInstance() : conflicts;
  }

  private static <T extends com.google.protobuf.Message> T detail(StatusRuntimeException e, Class<T> kind) {
    com.google.rpc.Status status = StatusProto.fromThrowable(e);
    if (status == null) {
      return null;
    }
    for (Any any : status.getDetailsList()) {
      try {
        if (any.is(kind)) {
          return any.unpack(kind);
        }
      } catch (InvalidProtocolBufferException broken) {
        return null;
      }
    }
    return null;
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("does not hold: " + what);
    }
    System.out.println(what);
  }
}
