//! A container whose ranges move between the pages that a client reads.

use account::RelocationEnd;
use model::{EpkRange, RangeId};

use crate::support::{Client, link};

const C: &str = "dbs/d/colls/c";
const N_ITEMS: u64 = 70;
const N_KEYS: u64 = 13;
const RANGES_MAX: usize = 12;

const CONTAINER: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "indexingPolicy":{"includedPaths":[{"path":"/*"}],"compositeIndexes":[
        [{"path":"/n","order":"ascending"},{"path":"/mixed","order":"descending"}]]}}"#;

const MIXED: [&str; 12] = [
    "",
    r#","mixed":null"#,
    r#","mixed":false"#,
    r#","mixed":true"#,
    r#","mixed":-7"#,
    r#","mixed":3"#,
    r#","mixed":3.5"#,
    r#","mixed":"""#,
    r#","mixed":"a'\"\\b""#,
    r#","mixed":"ä""#,
    r#","mixed":"zz""#,
    r#","mixed":"zzz""#,
];

pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) random: Random,
    pub(crate) n_relocations: usize,
    n_noise: u64,
}

impl World {
    pub(crate) async fn new(seed: u64) -> World {
        let client = Client::new(1).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        client.create("dbs/d/colls", CONTAINER).await.expect(201);
        let mut world = World { client, random: Random(seed), n_relocations: 0, n_noise: 0 };
        for n in 0..N_ITEMS {
            world.fill(n).await;
        }
        world
    }

    async fn fill(&mut self, n: u64) {
        let pk = n % N_KEYS;
        let mixed = MIXED[self.random.below(MIXED.len())];
        // Most are too long to be named in a continuation; different ones begin differently.
        let kind = self.random.below(30);
        let long = format!("{kind:02}{}", "x".repeat(700 * (kind % 3)));
        let tags = ["[]", r#"["a"]"#, r#"["a","b"]"#, r#"["b","c","d"]"#][self.random.below(4)];
        let (ties, u) = (self.random.below(7), n * 37 % 1009);
        let n_of = |n: u64| usize::try_from(n).unwrap();
        let words = ["oak ".repeat(n_of(n % 4)), "elm ".repeat(n_of(n % 7)), "ash".into()].concat();
        let body = format!(
            r#"{{"id":"{n}","pk":"{pk}","s":true,"n":{ties},"u":{u},"words":"{words}","long":"{long}","tags":{tags}{mixed}}}"#
        );
        self.client.items().key(&format!(r#"["{pk}"]"#)).create(&body).await.expect(201);
    }

    pub(crate) fn key(&mut self) -> String {
        format!(r#"["{}"]"#, self.random.below(13))
    }

    pub(crate) fn page_size(&mut self) -> u32 {
        u32::try_from(1 + self.random.below(7)).unwrap()
    }

    /// The ranges as they are now.
    pub(crate) fn ranges(&self) -> Vec<(u32, EpkRange)> {
        let ranges = self.client.account.describe_ranges(&link(C)).unwrap();
        ranges.into_iter().map(|range| (range.id.0, range.epks)).collect()
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.ranges().into_iter().map(|(id, _)| id).collect()
    }

    /// What may happen between two pages: an item that no query wants comes or goes, ranges split and merge.
    pub(crate) async fn between_pages(&mut self) {
        if self.random.below(3) == 0 {
            self.disturb().await;
        }
        for _ in 0..[0, 0, 0, 0, 0, 1, 2][self.random.below(7)] {
            self.relocate().await;
        }
    }

    async fn disturb(&mut self) {
        self.n_noise += 1;
        let (id, pk) = (self.n_noise % 9, self.random.below(13));
        let body = format!(r#"{{"id":"noise{id}","pk":"{pk}","s":false,"n":{id},"tags":["a"]}}"#);
        let items = self.client.items().key(&format!(r#"["{pk}"]"#));
        if self.random.below(3) == 0 {
            items.delete(&format!("noise{id}")).await;
        } else {
            items.upsert(&body).await;
        }
    }

    /// Splits a range or merges two. A range that cannot be split stays.
    async fn relocate(&mut self) {
        let ranges = self.ranges();
        let at = self.random.below(ranges.len());
        let wants_merge = self.random.below(RANGES_MAX) < ranges.len();
        let (account, container) = (&self.client.account, link(C));
        let started = match ranges.get(at + 1) {
            Some((next, _)) if wants_merge => {
                account.start_merge(&container, [RangeId(ranges[at].0), RangeId(*next)])
            }
            _ => account.start_split(&container, RangeId(ranges[at].0), None),
        };
        let Ok(id) = started else { return };
        let status = account.wait_for_relocation(id).await.unwrap();
        assert_eq!(status.end, Some(RelocationEnd::Done), "{status:?}");
        self.n_relocations += 1;
    }
}
