//! What the catalog refuses before it commits.

use model::{EpkRange, Lsn, RangeId};

use super::*;
use crate::body::object;
use crate::catalog::containers::complete;
use crate::operation::Options;
use crate::range_map::RangeEntry;

/// The state of a container whose ranges have these boundaries, each over a new partition.
fn state_of(draft: &mut Draft<'_>, spans: Vec<EpkRange>) -> model::Object {
    let ranges = (0..).zip(spans).map(|(id, epks)| {
        let incarnation = draft.new_partition_at(0, Lsn(1));
        let parents = Vec::new();
        RangeEntry { id: RangeId(id), epks, incarnation, rid_prefix: 0, parents, ts: 0 }.to_value()
    });
    object([("ranges", ranges.collect::<Vec<_>>().into()), ("rangesEtag", "x".into())])
}

#[tokio::test]
async fn a_layout_that_does_not_tile_the_hash_space_is_refused_before_it_is_committed() {
    let store: Arc<dyn Store> = store::open_memory();
    let open = || Catalog::open(Arc::clone(&store), AccountOptions::default(), Env::fixed(1, 0));
    let catalog = Arc::new(open().await.unwrap());
    let key = object([("paths", vec![model::Value::from("/pk")].into()), ("kind", "Hash".into())]);
    let body = object([("id", "c".into()), ("partitionKey", model::Value::Object(key))]);
    let body = complete(&body, &Options::default()).unwrap();
    let database = catalog.change(|draft| databases::create(draft, "d", None)).await.unwrap();
    let record = catalog
        .change(move |draft| {
            let state = state_of(draft, vec![EpkRange::full()]);
            draft.add(Some(&database), ResourceKind::Container, "c", body, state)
        })
        .await
        .unwrap();
    let definition = model::PartitionKeyDefinition::new(&["/pk"]).unwrap();
    let thirds = definition.boundaries(3);
    let [low, middle, high] = <[EpkRange; 3]>::try_from(thirds).unwrap();
    for spans in [
        vec![low.clone(), high.clone()],
        vec![low.clone(), middle.clone()],
        vec![middle.clone(), high.clone()],
        vec![low.clone(), low.clone(), middle.clone(), high.clone()],
        vec![EpkRange::full(), high.clone()],
        vec![],
    ] {
        let (record, tried) = (Arc::clone(&record), spans.clone());
        let refused = catalog.change(move |draft| {
            let state = state_of(draft, spans);
            draft.update_state(&record, state);
            Ok(())
        });
        let error = refused.await.unwrap_err();
        assert!(matches!(&error, Error::CatalogCorrupt(_)), "{tried:?}: {error}");
    }
    // Memory and store still agree, so the next change is committed, and the account opens again.
    catalog.change(|draft| databases::create(draft, "e", None).map(drop)).await.unwrap();
    assert_eq!(
        open().await.unwrap().tables().container(record.number).unwrap().ranges.iter().count(),
        1
    );
}
