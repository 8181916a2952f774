//! Tells the program which rdkafka it is built with: the version in Cargo.lock, whatever was requested.
//!
//! The crate has changed. For each version in `SINCE` that is not later, the program has a cfg, such as `since_0_28`.

use std::fs;

/// 0.28: cooperative rebalances, and which partitions are revoked. 0.32.1: `assignment_lost`. 0.36: events instead of
/// callbacks. 0.37: the listener gets the consumer.
const SINCE: [&str; 4] = ["0.28", "0.32.1", "0.36", "0.37"];

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("cargo writes Cargo.lock before it builds");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"rdkafka\"\n"))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .expect("Cargo.lock holds the version of every dependency");
    println!("cargo:rustc-env=RDKAFKA_VERSION={version}");
    for since in SINCE {
        let name = format!("since_{}", since.replace('.', "_"));
        println!("cargo:rustc-check-cfg=cfg({name})");
        if numbers(version) >= numbers(since) {
            println!("cargo:rustc-cfg={name}");
        }
    }
}

fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}
