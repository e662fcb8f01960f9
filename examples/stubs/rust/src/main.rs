//! Puts a user's message and a reply, and reads them as a model is sent them.

mod identity;
#[allow(dead_code, clippy::large_enum_variant)]
mod transcript {
    tonic::include_proto!("transcript.v1");
}

use prost::Message as _;
use std::time::Duration;
use tonic::{Code, Request, Status, transport::Channel};
use tonic_types::StatusExt;
use transcript::transcript_service_client::TranscriptServiceClient;
use transcript::*;

type Client = TranscriptServiceClient<Channel>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: stubs HOST:PORT")?;
    let mut client = Client::connect(format!("http://{address}"))
        .await?
        .max_decoding_message_size(64 << 20);
    let chat = format!("chat/{}", hex::encode(rand::random::<[u8; 8]>()));

    let first = append("", &chat, message(Role::User, "Will it rain?"));
    let head = put(&mut client, &first).await?.node_id;
    check(
        head == node_id("", &first)?,
        "the id is the one that the client computes",
    );
    check(
        put(&mut client, &first).await?.node_id == head,
        "a repeat finds the node that it has put",
    );

    let reply = append(&head, &chat, message(Role::Assistant, "Yes, from noon."));
    let replied = put(&mut client, &reply).await?.node_id;
    check(replied == node_id(&head, &reply)?, "so is that of a child");

    let other = append(&head, &chat, message(Role::Assistant, "No."));
    let refused = put(&mut client, &other)
        .await
        .err()
        .ok_or("another writer was not refused")?;
    check(
        reason(&refused) == "ALIAS_MOVED",
        "another writer is refused",
    );
    let moved = conflicts(&refused).ok_or("the error has no conflicts")?;
    check(
        moved.conflicts[0].node_id == replied,
        "and is told where the alias is",
    );

    let mut request = Request::new(AssembleRequest {
        head: Some(NodeRef {
            r#ref: Some(node_ref::Ref::Alias(chat)),
        }),
        view: View::Effective.into(),
        ..Default::default()
    });
    request.set_timeout(Duration::from_secs(30));
    for m in client.assemble(request).await?.into_inner().messages {
        if let Some(part::Kind::Text(text)) = &m.parts[0].kind {
            println!("{}: {text}", m.role().as_str_name());
        }
    }
    Ok(())
}

fn message(role: Role, text: &str) -> Message {
    let part = Part {
        kind: Some(part::Kind::Text(text.to_owned())),
        ..Default::default()
    };
    Message {
        role: role.into(),
        parts: vec![part],
        ..Default::default()
    }
}

/// An append to the node of an id, or the beginning of a chain, that moves an alias. It may be repeated: docs/api.md, "Retries".
fn append(parent: &str, alias: &str, message: Message) -> PutNodeRequest {
    let (parent, condition) = if parent.is_empty() {
        (None, alias_precondition::Condition::MustNotExist(true))
    } else {
        let node = node_ref::Ref::NodeId(parent.to_owned());
        (
            Some(NodeRef { r#ref: Some(node) }),
            alias_precondition::Condition::HeadId(parent.to_owned()),
        )
    };
    let precondition = AliasPrecondition {
        condition: Some(condition),
        ..Default::default()
    };
    PutNodeRequest {
        parent,
        salt: rand::random::<[u8; 16]>().to_vec(), // the same in every repeat
        messages: vec![message],
        aliases: vec![AliasUpdate {
            name: alias.to_owned(),
            precondition: Some(precondition),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The id of the node that a request puts: one without metadata, under the node of an id.
fn node_id(parent: &str, request: &PutNodeRequest) -> Result<String, hex::FromHexError> {
    let payload = Payload {
        messages: request.messages.clone(),
    };
    Ok(identity::node_id(&NodeEnvelope {
        payload_digest: identity::payload_digest(&request.salt, &payload),
        parent: hex::decode(parent)?,
        ..Default::default()
    }))
}

/// Puts a node, and repeats the call after growing random pauses where that can help.
async fn put(client: &mut Client, request: &PutNodeRequest) -> Result<PutNodeResponse, Status> {
    let mut pause = 50;
    loop {
        let mut call = Request::new(request.clone());
        call.set_timeout(Duration::from_secs(30));
        let error = match client.put_node(call).await {
            Ok(response) => return Ok(response.into_inner()),
            Err(error) => error,
        };
        let later = match reason(&error).as_str() {
            "" => error.code() == Code::Unavailable,
            "OVERLOADED" | "DRAINING" | "IDENTITY_UNAVAILABLE" | "RATE_LIMITED" => true,
            _ => false,
        };
        if !later || pause > 2000 {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(rand::random_range(pause / 2..pause))).await;
        pause *= 2;
    }
}

/// The reason of an error, or "" where it has none: what answered is no server of transcriptd, or nothing did.
fn reason(error: &Status) -> String {
    match error.get_details_error_info() {
        Some(info) if info.domain == "transcript.v1" => info.reason,
        _ => String::new(),
    }
}

/// The detail of an error about aliases. tonic-types knows only Google's details, so it is read from their list.
fn conflicts(error: &Status) -> Option<AliasConflicts> {
    let status = tonic_types::pb::Status::decode(error.details()).ok()?;
    let detail = status
        .details
        .into_iter()
        .find(|d| d.type_url.ends_with("/transcript.v1.AliasConflicts"))?;
    AliasConflicts::decode(detail.value.as_slice()).ok()
}

fn check(holds: bool, what: &str) {
    assert!(holds, "does not hold: {what}");
    println!("{what}");
}
