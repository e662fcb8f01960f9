package example;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import transcript.v1.Node.NodeEnvelope;
import transcript.v1.Node.Payload;

/** Computes ids of nodes; docs/design.md, "Identity", is the rule. */
public final class Identity {
  private Identity() {}

  /** The 32 bytes of the digest of a node's messages under its salt, of 0 or 16 to 32 bytes. */
  static ByteString payloadDigest(ByteString salt, Payload payload) {
    return salted("transcript.payload.v1", salt, payload.toByteString());
  }

  /** The id, 64 lower-case hex digits, of the node that has an envelope. */
  static String nodeId(NodeEnvelope envelope) {
    return HexFormat.of().formatHex(sha256(domain("transcript.node.v1").concat(envelope.toByteString())).toByteArray());
  }

  /** The bytes of an id, as an envelope has them. */
  static ByteString bytes(String hex) {
    return ByteString.copyFrom(HexFormat.of().parseHex(hex));
  }

  private static ByteString salted(String domain, ByteString salt, ByteString content) {
    ByteString length = ByteString.copyFrom(new byte[] {(byte) salt.size()});
    return sha256(domain(domain).concat(length).concat(salt).concat(content));
  }

  private static ByteString domain(String name) {
    return ByteString.copyFrom(name + "\0", StandardCharsets.US_ASCII);
  }

  private static ByteString sha256(ByteString content) {
    try {
      return ByteString.copyFrom(MessageDigest.getInstance("SHA-256").digest(content.toByteArray()));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  /** Reads the vectors, and writes "N passed, N failed". Exits with 1 if one failed. */
  public static void main(String[] arguments) throws IOException {
    JsonArray vectors = JsonParser.parseString(Files.readString(Path.of(arguments[0]))).getAsJsonArray();
    int passed = 0;
    int failed = 0;
    for (JsonElement element : vectors) {
      JsonObject vector = element.getAsJsonObject();
      if (holds(vector)) {
        passed++;
      } else {
        failed++;
        System.err.println("failed: " + vector.get("name").getAsString());
      }
    }
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 && passed > 0 ? 0 : 1);
  }

  /** Whether this runtime encodes what it has read to the canonical bytes, and the digests and the id follow from them. */
  private static boolean holds(JsonObject vector) throws InvalidProtocolBufferException {
    NodeEnvelope envelope = NodeEnvelope.parseFrom(bytes(text(vector, "envelope_hex")));
    if (!envelope.toByteString().equals(bytes(text(vector, "envelope_hex"))) || !nodeId(envelope).equals(text(vector, "node_id"))) {
      return false;
    }
    for (String form : new String[] {"payload_hex", "wire_hex"}) {
      if (!vector.has(form) || !vector.has("payload_hex")) {
        continue; // the payload of a large vector is not in the file
      }
      Payload payload = Payload.parseFrom(bytes(text(vector, form)));
      ByteString digest = payloadDigest(bytes(text(vector, "salt")), payload);
      if (!payload.toByteString().equals(bytes(text(vector, "payload_hex"))) || !digest.equals(envelope.getPayloadDigest())) {
        return false;
      }
    }
    return true;
  }

  private static String text(JsonObject vector, String member) {
    return vector.has(member) ? vector.get(member).getAsString() : "";
  }
}
