//! Lives through worlds.
use firstcome_sim::plan::Plan;
use firstcome_sim::world::live;

fn main() {
    let mut args = std::env::args().skip(1);
    let from: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(0);
    let count: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let begun = std::time::Instant::now();
    let mut time = std::time::Duration::ZERO;
    for seed in from..from + count {
        let plan = Plan::draw(seed);
        let told: Option<Box<dyn FnMut(&str) + Send>> = (count == 1)
            .then(|| -> Box<dyn FnMut(&str) + Send> { Box::new(|line| println!("{line}")) });
        let lived = live(&plan, None, told);
        time += lived.time;
        println!(
            "{seed}: {:x} {:?} faults {} forks {} put back {} reseeds {} entries {} exchanges {}",
            lived.hash,
            lived.time,
            lived.faults,
            lived.forks,
            lived.put_back,
            lived.reseeds,
            lived.history.stored.len(),
            lived.history.exchanges.len()
        );
    }
    println!("{:?} in {:?}", time, begun.elapsed());
}
