//! Passes the version of the linked rdkafka to the program: the one in Cargo.lock, whatever was requested.

use std::fs;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("cargo writes Cargo.lock before it builds");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"rdkafka\"\n"))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .expect("Cargo.lock holds the version of every dependency");
    println!("cargo:rustc-env=RDKAFKA_VERSION={version}");
}
