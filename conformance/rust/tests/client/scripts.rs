//! Scripts of a template are in the containers that are made from it, and run.

use conformance_rust::partitioned::{item, rest, service, source};
use conformance_rust::run;
use orrery_client::sdk::SdkDatabase;
use orrery_client::{
    ContainerHost, ContainerLink, ContainerTemplate, Error, HashPartitionResolver, ItemStore,
    ManagedPartitionResolver, Naming, PageRequest, Script, ScriptKind, Statement,
};
use serde_json::json;

fn scripts() -> Vec<Script> {
    let script = |id: &str, kind, body: &str| Script { id: id.into(), kind, body: body.into() };
    let trigger = ScriptKind::Trigger {
        trigger_type: "Pre".to_owned(),
        trigger_operation: "Create".to_owned(),
    };
    vec![
        script(
            "hello",
            ScriptKind::StoredProcedure,
            "function (n) { getContext().getResponse().setBody(n); }",
        ),
        script("stamp", trigger, "function () { }"),
        script("twice", ScriptKind::Function, "function (n) { return 2 * n; }"),
    ]
}

fn template() -> ContainerTemplate {
    let mut template = ContainerTemplate::new(["/pk"]);
    template.scripts = scripts();
    template.indexing_policy = Some(json!({
        "indexingMode": "consistent",
        "automatic": true,
        "includedPaths": [{"path": "/version/?"}],
        "excludedPaths": [{"path": "/*"}],
    }));
    template.throughput = Some(1000);
    template
}

async fn make(service: &SdkDatabase) -> orrery_client::Result<ManagedPartitionResolver> {
    let builder = HashPartitionResolver::builder(source());
    ManagedPartitionResolver::create(service, builder, Naming::new("s."), template(), 2).await
}

#[test]
fn the_scripts_of_a_template_are_made_with_the_container() {
    run(async {
        let (service, name) = service().await;
        make(&service).await.unwrap();
        for container in ["s.0", "s.1"] {
            let mut found = rest(&name).scripts(container).await.unwrap();
            found.sort_by(|a, b| a.id.cmp(&b.id));
            assert_eq!(found, scripts());
            let made = service.template(container).await.unwrap().unwrap();
            let policy = made.indexing_policy.unwrap();
            assert_eq!(policy["includedPaths"][0]["path"], "/version/?", "{policy}");
        }
        let link = ContainerLink::from("s.0");
        ItemStore::create(&service, &link, &"k".into(), &item("i", "k", 21)).await.unwrap();
        let statement = Statement::new("SELECT VALUE udf.twice(c.version) FROM c");
        let request = PageRequest {
            container: &link,
            statement: &statement,
            partition: Some(&"k".into()),
            continuation: None,
            rows_max: None,
        };
        assert_eq!(service.page(request).await.unwrap().rows, [json!(42)]);
    });
}

#[test]
fn scripts_that_are_missing_are_added_and_others_are_left() {
    run(async {
        let (service, name) = service().await;
        // As if the maker had died between the container and its last script.
        let mut partial = template();
        partial.scripts.truncate(1);
        partial.scripts[0].body = "function () { /* mine */ }".to_owned();
        ContainerHost::create(&service, "s.0", &partial).await.unwrap();
        make(&service).await.unwrap();
        let found = rest(&name).scripts("s.0").await.unwrap();
        assert_eq!(found.len(), 3);
        assert!(found.iter().any(|it| it.body.contains("mine")));
    });
}

#[test]
fn without_the_helper_scripts_are_refused_instead_of_dropped() {
    run(async {
        let (_, name) = service().await;
        let client = conformance_rust::client(&conformance_rust::key()).await.unwrap();
        let bare = SdkDatabase::new(client.database_client(name));
        assert!(matches!(make(&bare).await, Err(Error::ScriptsUnsupported)));
        assert!(bare.list().await.unwrap().is_empty());
    });
}
