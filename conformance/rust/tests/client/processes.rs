//! Several processes share a state, in a container or in a file, while a further one changes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use conformance_rust::partitioned::{
    GRACE, check_stored, document, follower, item, make_ring, make_states, manager, service, stored,
};
use conformance_rust::run;
use orrery_client::{ContainerHost, Registry, load_state};

fn start(arguments: &[&str], folder: Option<&Path>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_partition-process"));
    command.args(arguments).args(folder).stdout(Stdio::piped()).spawn().unwrap()
}

/// The ids and versions that a writer says were acknowledged.
fn acknowledged(writer: Child) -> BTreeMap<String, u64> {
    let output = writer.wait_with_output().unwrap();
    assert!(output.status.success(), "the writer failed");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|it| it.split_once(' ').unwrap());
    lines.map(|(id, version)| (id.to_owned(), version.parse().unwrap())).collect()
}

async fn shared(folder: Option<&Path>) {
    let (service, name) = service().await;
    make_states(&service).await;
    let service = Arc::new(service);
    let states = document(service.clone(), folder, "ring");
    make_ring(&service, 2, &*states).await;
    let database = follower(service.clone(), states.clone()).await;
    let mut expected = BTreeMap::new();
    for number in 0..30 {
        let id = format!("first{number}");
        database.create(&item(&id, &id, 1)).await.unwrap();
        expected.insert(id, 1);
    }
    let jobs = document(service.clone(), folder, "job");
    let manager = manager(service.clone(), states.clone(), jobs, GRACE);
    manager.begin(&manager.resized(1).await.unwrap()).await.unwrap();
    let writers =
        [start(&["writer", &name, "a", "5"], folder), start(&["writer", &name, "b", "5"], folder)];
    let work = start(&["manager", &name, "-1"], folder);
    let output = work.wait_with_output().unwrap();
    assert!(output.status.success(), "the manager failed");
    for writer in writers {
        let written = acknowledged(writer);
        assert!(written.len() > 20, "{}", written.len());
        expected.extend(written);
    }
    let (state, _) = load_state(&*states).await.unwrap().unwrap();
    let mut names = service.list().await.unwrap();
    names.retain(|it| it.starts_with("ring."));
    assert_eq!(names.len(), 3);
    let resolver = state.build(&Registry::new()).unwrap();
    check_stored(&stored(&*service, &names).await, &*resolver, &expected);
}

#[test]
fn processes_share_a_state_in_a_container() {
    run(shared(None));
}

#[test]
fn processes_share_a_state_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    run(shared(Some(folder.path())));
}
