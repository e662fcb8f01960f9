fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proto = "../../../proto";
    let files = protox::compile(["transcript/v1/transcript_service.proto"], [proto])?;
    tonic_prost_build::configure()
        .build_server(false)
        .compile_fds(files)?;
    println!("cargo:rerun-if-changed={proto}");
    Ok(())
}
