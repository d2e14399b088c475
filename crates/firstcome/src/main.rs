//! The `firstcome` program.

fn main() {
    std::process::exit(firstcome::cli::main());
}
