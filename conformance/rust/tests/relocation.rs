//! The container goes from its first ranges to 16 and back to 2 while everything goes on.

mod growth;

use std::sync::atomic::Ordering;
use std::time::Duration;

use conformance_rust::{Result, Scratch, properties, run};
use growth::{RANGES_MAX, RANGES_MIN, Ranges, Work};
use tokio::time::sleep;

/// Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache.
const REST: Duration = Duration::from_secs(1);

async fn move_ranges(ranges: &Ranges, work: &Work) -> Result<Vec<usize>> {
    let mut steps = Vec::new();
    sleep(REST).await;
    for (is_growing, goal) in [(true, RANGES_MAX), (false, RANGES_MIN)] {
        while !work.is_over() && ranges.ids().await?.len() != goal {
            if is_growing {
                ranges.grow().await?;
            } else {
                ranges.shrink().await?;
            }
            steps.push(ranges.ids().await?.len());
            sleep(REST).await;
        }
    }
    work.end();
    Ok(steps)
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order_while_ranges_split_and_merge() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let properties = properties(&["/pk"]);
        let ranges = Ranges::new(&scratch.name, &properties.id)?;
        let work = Work::new(scratch.container_with(properties).await);
        work.fill().await?;
        // The first failure drops the others.
        let (steps, ..) = tokio::try_join!(
            move_ranges(&ranges, &work),
            work.write(0),
            work.write(1),
            work.write(2),
            work.write(3),
            work.read(true),
            work.read(false),
            work.query_in_order(),
            work.query_one_key(),
            work.follow(),
        )?;
        work.check().await?;
        assert_eq!(steps.iter().max(), Some(&RANGES_MAX));
        assert_eq!(steps.last(), Some(&RANGES_MIN));
        let counts = [&work.n_written, &work.n_reads, &work.n_pages, &work.n_changes]
            .map(|it| it.load(Ordering::Relaxed));
        println!("ranges {steps:?}; writes, reads, pages, changes {counts:?}");
        assert!(counts[0] > 100 && counts.iter().all(|it| *it > 0), "{counts:?}");
        scratch.finish().await;
        Ok(())
    })
}
