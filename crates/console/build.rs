//! Has the page embedded again when it was built again: the derive macro knows only the files that it saw.

fn main() {
    println!("cargo:rerun-if-changed=../../web/dist");
}
