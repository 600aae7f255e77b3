//! `rekey`, `repartition`, `distribution` and `explain` as a person or a script meets them, against a server of their own.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::sync::Arc;

use client::rest::{Account, RestDatabase};
use client::{
    Address, ContainerHost as _, ContainerTemplate, Env, FileStateStore, Key, PartitionedDatabase,
    ReadScope, Registry, Scheme, Statement, load_state,
};
use serde_json::json;
use support::{Server, output};

/// A server and a folder for states and jobs.
struct Scene {
    server: Server,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let server = Server::start(&["--in-memory", "--min-partitions", "3"]);
        Scene { server, folder: tempfile::tempdir().unwrap() }
    }

    fn endpoint(&self) -> String {
        format!("http://{}/", self.server.authority)
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    fn service(&self) -> RestDatabase {
        let account =
            Account::new(&self.endpoint(), gateway::WELL_KNOWN_KEY, Env::system()).unwrap();
        RestDatabase::new(account, "shop")
    }

    /// Runs a command on the database and returns its standard output; it must succeed.
    #[track_caller]
    fn run(&self, command: &[&str], options: &[&str]) -> String {
        let (status, stdout, stderr) = self.try_run(command, options);
        assert_eq!(status, 0, "{command:?} {options:?}\n{stdout}{stderr}");
        stdout
    }

    fn try_run(&self, command: &[&str], options: &[&str]) -> (i32, String, String) {
        let endpoint = self.endpoint();
        let account = ["--endpoint", &endpoint, "--database", "shop"];
        output(&[command, &account, options].concat())
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_query_is_explained() {
    let scene = Scene::new();
    block_on(async {
        let (service, template) = (scene.service(), ContainerTemplate::new(["/city"]));
        service.ensure().await.unwrap();
        service.create_container("orders", &template).await;
    });
    let endpoint = scene.endpoint();
    let explain = |query: &str, options: &[&str]| {
        let command = ["explain", "--endpoint", &endpoint, "shop/orders", query];
        output(&[&command, options].concat())
    };
    let query = "SELECT * FROM c WHERE c.city = @city AND c.total > 9";
    let (status, plan, _) = explain(query, &["--parameter", "@city=Bern"]);
    assert_eq!(status, 0);
    for part in
        ["asks 1 of 3 ranges", "seek /city = \"Bern\"", "would help   (/city ASC, /total ASC)"]
    {
        assert!(plan.contains(part), "{part} is missing in\n{plan}");
    }
    let (status, plan, _) =
        explain("SELECT * FROM c", &["--json", "--partition-key", "[\"Bern\"]"]);
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    assert_eq!((status, plan["ranges"].as_array().unwrap().len()), (0, 1));
    let (status, took, _) = explain("SELECT * FROM c", &["--analyze", "--max-charge", "100"]);
    assert_eq!(status, 0);
    assert!(took.contains("took   6.75 RU, 1 page, ") && took.contains("\n  all "), "{took}");
    assert_ne!(explain("SELECT * FROM c", &["--max-charge", "100"]).0, 0);
    let (status, _, message) = explain("SELECT FROM c", &[]);
    assert!(status != 0 && message.contains("\n         ^^^^"), "{message}");
}

#[test]
fn a_server_is_watched_as_plain_text() {
    let scene = Scene::new();
    block_on(async {
        let (service, template) = (scene.service(), ContainerTemplate::new(["/city"]));
        service.ensure().await.unwrap();
        service.create_container("orders", &template).await;
    });
    let endpoint = scene.endpoint();
    let (status, text, message) = output(&["top", "--endpoint", &endpoint, "--times", "2"]);
    assert_eq!(status, 0, "{message}");
    assert!(text.starts_with("1 container, 3 ranges   "), "{text}");
    assert_eq!(text.matches("shop/orders ").count(), 6, "{text}");
    assert!(!text.contains('\u{1b}'), "no escapes where there is no terminal");
    let command = ["partitions", "--endpoint", &endpoint, "shop/orders", "--watch", "--times", "2"];
    let (status, text, _) = output(&command);
    assert_eq!((status, text.matches("shop/orders   3 ranges").count()), (0, 2), "{text}");
    assert_ne!(output(&["top", "--endpoint", &endpoint, "nothing"]).0, 0);
    assert_ne!(output(&["partitions", "--times", "2"]).0, 0);
}

#[test]
fn a_ring_is_made_changed_and_watched() {
    let scene = Scene::new();
    let state = scene.file("ring.json");
    let init = ["--state", &state, "--by", "/customer", "--containers", "2"];
    assert!(scene.run(&["repartition", "init"], &init).contains("2 containers"));
    let (status, _, message) = scene.try_run(&["repartition", "init"], &init);
    assert!(status != 0 && message.contains("already"), "{message}");

    let database = block_on(async {
        let (found, _) = load_state(&FileStateStore::new(&state)).await.unwrap().unwrap();
        let resolver = found.build(&Registry::new()).unwrap();
        PartitionedDatabase::new(Arc::new(scene.service()), Scheme::new(resolver))
    });
    block_on(async {
        for number in 0..40 {
            let item = json!({"id": format!("o{number}"), "customer": format!("c{number}")});
            database.create(&item).await.unwrap();
        }
    });
    let plan = scene.run(&["repartition", "plan"], &["--state", &state, "--add", "1"]);
    assert!(plan.contains("items move") && plan.contains("ring-2 is made"), "{plan}");
    let change = ["--state", &state, "--add", "1", "--grace", "0"];
    let applied = scene.run(&["repartition", "apply"], &change);
    assert!(applied.contains("moved"), "{applied}");
    let status = scene.run(&["repartition", "status"], &["--state", &state]);
    assert!(status.contains("ring of 3") && status.contains("Done"), "{status}");
    let resumed = scene.run(&["repartition", "resume"], &["--state", &state]);
    assert!(resumed.contains("moved"), "a finished change stays finished: {resumed}");

    block_on(async {
        let (found, _) = load_state(&FileStateStore::new(&state)).await.unwrap().unwrap();
        let resolver = found.build(&Registry::new()).unwrap();
        let database = PartitionedDatabase::new(Arc::new(scene.service()), Scheme::new(resolver));
        let query = database.query(Statement::new("SELECT * FROM c"), &ReadScope::All);
        assert_eq!(query.await.unwrap().collect().await.unwrap().len(), 40);
        for number in 0..40 {
            let at = Address::new(format!("o{number}"), format!("c{number}"));
            assert!(database.read(&at).await.unwrap().is_some(), "{number}");
        }
    });
    let too_many = ["--state", &state, "--remove", "3"];
    let (status, _, message) = scene.try_run(&["repartition", "plan"], &too_many);
    assert!(status != 0 && message.contains("at least one container"), "{message}");
}

#[test]
fn a_container_gets_another_key() {
    let scene = Scene::new();
    let service = scene.service();
    block_on(async {
        service.ensure().await.unwrap();
        service.create_container("trips", &ContainerTemplate::new(["/date"])).await;
        for number in 0..50 {
            let item = json!({
                "id": format!("t{number}"), "date": "2018-08-09", "vin": format!("V{}", number % 7),
            });
            service.put("trips", "2018-08-09", &item).await;
        }
    });
    let job = scene.file("job.json");
    let copy =
        ["--from", "trips", "--to", "trips-2", "--hashed-suffix", "/pk=/date,/vin", "--job", &job];
    let plan = scene.run(&["rekey"], &[&copy[..], &["--plan"]].concat());
    assert!(plan.contains("50 items") && plan.contains("7 logical partitions"), "{plan}");
    let done = scene.run(&["rekey"], &copy);
    assert!(done.contains("verified 50 items"), "{done}");
    let (status, _, message) = scene.try_run(&["rekey"], &copy);
    assert!(status != 0 && message.contains("finished"), "{message}");
    block_on(async {
        let made = service.template("trips-2").await.unwrap().unwrap();
        assert_eq!(made.partition_key_paths, ["/pk"]);
    });
    let job = scene.file("levels.json");
    let levels = [
        "--from",
        "trips",
        "--to",
        "trips-3",
        "--partition-key",
        "/vin",
        "--partition-key",
        "/id",
        "--job",
        &job,
    ];
    assert!(scene.run(&["rekey"], &levels).contains("verified 50 items"));

    for (options, part) in [
        (&["--from", "nowhere", "--to", "x", "--partition-key", "/a"][..], "does not exist"),
        (&["--from", "trips", "--to", "x"], "--partition-key"),
        (&["--from", "trips", "--to", "x", "--concat", "/pk"], "/a=/b,/c"),
        (&["--from", "trips", "--to", "x", "--concat", "/pk=/missing"], "no key"),
    ] {
        let job = scene.file("refused.json");
        let (status, stdout, message) =
            scene.try_run(&["rekey"], &[options, &["--job", &job]].concat());
        assert!(status != 0, "{options:?}: {stdout}");
        assert!(message.contains(part) || stdout.contains(part), "{options:?}: {stdout}{message}");
    }
}

#[test]
fn a_wrong_key_or_address_is_told() {
    let scene = Scene::new();
    let rekey = ["--from", "a", "--to", "b", "--partition-key", "/c"];
    let (status, _, message) = output(
        &[&["rekey", "--endpoint", "https://db.example.com/", "--database", "d"], &rekey[..]]
            .concat(),
    );
    assert!(status != 0 && message.contains("--key-file"), "{message}");
    let other = "b3duIGtleSBvd24ga2V5IG93biBrZXk=";
    let endpoint = scene.endpoint();
    let (status, _, message) = output(&[
        "repartition",
        "status",
        "--endpoint",
        &endpoint,
        "--database",
        "d",
        "--key",
        other,
        "--state-item",
        "s/r",
    ]);
    assert!(status != 0 && message.contains("401"), "{message}");
}

#[test]
fn a_distribution_is_printed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spread.svg").to_string_lossy().into_owned();
    let (status, stdout, _) = output(&["distribution", "--keys", "2000", "--svg", &file]);
    assert_eq!(status, 0);
    assert!(stdout.contains("| containers |") && stdout.contains("HashedSuffix"), "{stdout}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg"));
}

/// Short calls that fail loudly.
trait Short {
    async fn create_container(&self, name: &str, template: &ContainerTemplate);
    async fn put(&self, container: &str, key: &str, item: &serde_json::Value);
}

impl Short for RestDatabase {
    async fn create_container(&self, name: &str, template: &ContainerTemplate) {
        client::ContainerHost::create(self, name, template).await.unwrap();
    }

    async fn put(&self, container: &str, key: &str, item: &serde_json::Value) {
        client::ItemStore::upsert(self, &container.into(), &Key::from(key), item).await.unwrap();
    }
}
