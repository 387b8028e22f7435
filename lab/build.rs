//! Has the linker send BoringSSL's calls of `RAND_bytes` to
//! `petra_lab::entropy`, which is what makes a simulation repeatable.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg=-Wl,--wrap=RAND_bytes");
}
