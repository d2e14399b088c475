//! The `firstcome` program.
fn main() -> anyhow::Result<()> {
    let mut flags = std::collections::BTreeMap::new();
    let mut args = std::env::args().skip(2);
    while let (Some(k), Some(v)) = (args.next(), args.next()) {
        let k: &'static str = Box::leak(k.trim_start_matches("--").to_owned().into_boxed_str());
        flags.insert(k, v);
    }
    let overrides = firstcome::config::Overrides { file: None, flags };
    let config = firstcome::config::resolve_here(&overrides)?.config;
    firstcome::serve::run(config)
}
