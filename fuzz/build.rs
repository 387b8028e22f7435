//! Has the linker send BoringSSL's calls of `RAND_bytes` to `petra_lab::entropy`, so that an input
//! has the same packets every time.

fn main() {
    println!("cargo::rustc-link-arg-bin=path=-Wl,--wrap=RAND_bytes");
    println!("cargo::rerun-if-changed=build.rs");
}
