//! Ids of nodes; docs/design.md, "Identity", is the rule.

use crate::transcript::{NodeEnvelope, Payload};
use prost::Message;
use sha2::{Digest, Sha256};

/// The 32 bytes of the digest of a node's messages under its salt, of 0 or 16 to 32 bytes.
pub fn payload_digest(salt: &[u8], payload: &Payload) -> Vec<u8> {
    Sha256::new()
        .chain_update(b"transcript.payload.v1\0")
        .chain_update([salt.len() as u8])
        .chain_update(salt)
        .chain_update(payload.encode_to_vec())
        .finalize()
        .to_vec()
}

/// The id, 64 lower-case hex digits, of the node that has an envelope.
pub fn node_id(envelope: &NodeEnvelope) -> String {
    let digest = Sha256::new()
        .chain_update(b"transcript.node.v1\0")
        .chain_update(envelope.encode_to_vec())
        .finalize();
    hex::encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn bytes(vector: &Value, member: &str) -> Vec<u8> {
        hex::decode(vector[member].as_str().unwrap_or_default()).expect("hex digits")
    }

    /// What this runtime has read it encodes to the canonical bytes, and the digests and the id follow from them.
    #[test]
    fn vectors() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../../../proto/testdata/vectors.json"))
                .expect("a list");
        assert!(vectors.len() > 100);
        for vector in &vectors {
            let name = vector["name"].as_str();
            let wire = bytes(vector, "envelope_hex");
            let envelope = NodeEnvelope::decode(wire.as_slice()).expect("an envelope");
            assert_eq!(envelope.encode_to_vec(), wire, "{name:?}");
            assert_eq!(
                Some(node_id(&envelope).as_str()),
                vector["node_id"].as_str(),
                "{name:?}"
            );
            for form in ["payload_hex", "wire_hex"] {
                if vector[form].is_null() || vector["payload_hex"].is_null() {
                    continue; // the payload of a large vector is not in the file
                }
                let payload = Payload::decode(bytes(vector, form).as_slice()).expect("a payload");
                assert_eq!(
                    payload.encode_to_vec(),
                    bytes(vector, "payload_hex"),
                    "{name:?}"
                );
                assert_eq!(
                    payload_digest(&bytes(vector, "salt"), &payload),
                    envelope.payload_digest,
                    "{name:?}"
                );
            }
        }
    }
}
