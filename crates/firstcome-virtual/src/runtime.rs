//! A runtime whose time is virtual: it moves on when every task waits.

/// Runs a world on a runtime of its own whose time and random numbers are the same for the same seed.
///
/// # Panics
///
/// The runtime cannot be built; or something in the world panics.
pub fn in_virtual_time<T>(seed: u64, world: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
    fastrand::seed(seed);
    let runtime = builder.build().expect("a runtime without threads can be built");
    // What still waits there at the end would wait for ever: it is dropped with the runtime.
    runtime.block_on(world)
}
