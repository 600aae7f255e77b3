//! A host in memory and a bench to run scripts on.
#![allow(dead_code, reason = "each test file uses its share")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{Env, Failure, Status, Value};
use parking_lot::Mutex;
use script::{
    Answer, AttachmentHost, AttachmentRef, Failed, FeedPage, Host, HostError, HostResult,
    Invocation, ItemRef, Limits, NewItem, Operation, PageRequest, QueryPage, Role, Runtime, Script,
    Usage,
};

pub(crate) const SELF_LINK: &str = "dbs/AAAAAA==/colls/AAAAAAAAAAA=/";
pub(crate) const ALT_LINK: &str = "dbs/d/colls/c";

/// Items by number; the rid of item 7 is `r7`, its etag counts its versions.
#[derive(Debug, Default)]
pub(crate) struct FakeHost {
    pub(crate) items: BTreeMap<u64, (u64, Value)>,
    pub(crate) n_calls: usize,
    pub(crate) writes_max: Option<usize>,
    pub(crate) breaks: bool,
    /// How far a call moves this clock.
    pub(crate) delay: Option<(Env, Duration)>,
    n_writes: usize,
    last: u64,
}

impl FakeHost {
    fn find(&self, item: ItemRef<'_>) -> HostResult<u64> {
        let missing = || HostError::new(Status::NOT_FOUND, "Resource Not Found");
        match item {
            ItemRef::Rid(rid) => {
                let number = rid.strip_prefix('r').and_then(|text| text.parse().ok());
                number.filter(|it| self.items.contains_key(it)).ok_or_else(missing)
            }
            ItemRef::Id(id) => {
                let mut found = self.items.iter();
                let is_it = |(_, (_, item)): &(&u64, &(u64, Value))| {
                    item.get("id").and_then(Value::as_str) == Some(id)
                };
                found.find(is_it).map(|(number, _)| *number).ok_or_else(missing)
            }
        }
    }

    fn show(&self, number: u64) -> Bytes {
        let (version, item) = &self.items[&number];
        let mut text = item.to_text();
        text.pop();
        let self_link = format!("{SELF_LINK}docs/r{number}/");
        let sep = if text.len() > 1 { "," } else { "" };
        Bytes::from(format!(r#"{text}{sep}"_self":"{self_link}","_etag":"e{version}"}}"#))
    }

    fn call(&mut self) -> HostResult<()> {
        self.n_calls += 1;
        if let Some((env, delay)) = &self.delay {
            env.advance(*delay);
        }
        if self.breaks {
            let message = "the disk is gone".to_owned();
            return Err(HostError { status: Status::INTERNAL, message, is_fatal: true });
        }
        Ok(())
    }

    fn put(&mut self, number: u64, body: &[u8], is_seen: bool) -> HostResult<Option<Bytes>> {
        self.n_writes += 1;
        let mut item = model::json::parse(body)
            .map_err(|_| HostError::new(Status::BAD_REQUEST, "not JSON"))?;
        if let Some(object) = item.as_object_mut() {
            object.retain(|name, _| !name.starts_with('_'));
        }
        if item.get("pk").is_some_and(|key| key.as_str() != Some("p")) {
            return Err(HostError::new(
                Status::PK_MISMATCH,
                "PartitionKey extracted from document",
            ));
        }
        let version = self.items.get(&number).map_or(1, |(version, _)| version + 1);
        self.items.insert(number, (version, item));
        Ok(is_seen.then(|| self.show(number)))
    }

    fn check(&self, number: u64, if_match: Option<&str>) -> HostResult<()> {
        let etag = format!("e{}", self.items[&number].0);
        match if_match {
            Some(expected) if expected != etag => Err(HostError::new(
                Status::PRECONDITION_FAILED,
                "One of the specified pre-condition is not met",
            )),
            _ => Ok(()),
        }
    }

    fn id_of(body: &[u8]) -> HostResult<String> {
        let item = model::json::parse(body).ok();
        let id = item.as_ref().and_then(|it| it.get("id")).and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| {
            HostError::new(Status::BAD_REQUEST, "the required properties - 'id; ' - are missing")
        })
    }

    fn no_attachment<T>(&mut self, item: ItemRef<'_>) -> HostResult<T> {
        self.call()?;
        self.find(item)?;
        Err(HostError::new(Status::NOT_FOUND, "there is no such attachment"))
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Value> {
        self.find(ItemRef::Id(id)).ok().map(|number| &self.items[&number].1)
    }
}

impl Host for FakeHost {
    fn self_link(&self) -> &str {
        SELF_LINK
    }

    fn alt_link(&self) -> &str {
        ALT_LINK
    }

    fn has_room(&self) -> bool {
        self.writes_max.is_none_or(|max| self.n_writes < max)
    }

    fn usage(&self) -> Usage {
        Usage { current_mb: 1.5, max_mb: 20.0, current_text: "x=1".into(), max_text: "x=9".into() }
    }

    fn read(&mut self, item: ItemRef<'_>, none_match: Option<&str>) -> HostResult<Option<Bytes>> {
        self.call()?;
        let number = self.find(item)?;
        let etag = format!("e{}", self.items[&number].0);
        Ok((none_match != Some(&etag)).then(|| self.show(number)))
    }

    fn create(&mut self, body: NewItem, is_seen: bool) -> HostResult<Option<Bytes>> {
        self.call()?;
        if self.find(ItemRef::Id(&Self::id_of(body.text())?)).is_ok() {
            return Err(HostError::new(
                Status::CONFLICT,
                "Entity with the specified id already exists",
            ));
        }
        self.last += 1;
        self.put(self.last, body.text(), is_seen)
    }

    fn upsert(
        &mut self,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>> {
        match self.find(ItemRef::Id(&Self::id_of(body.text())?)) {
            Ok(number) => {
                self.check(number, if_match)?;
                self.put(number, body.text(), is_seen)
            }
            Err(_) => self.create(body, is_seen),
        }
    }

    fn replace(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>> {
        self.call()?;
        let number = self.find(item)?;
        self.check(number, if_match)?;
        self.put(number, body.text(), is_seen)
    }

    fn delete(&mut self, item: ItemRef<'_>, if_match: Option<&str>) -> HostResult<()> {
        self.call()?;
        let number = self.find(item)?;
        self.check(number, if_match)?;
        self.n_writes += 1;
        self.items.remove(&number);
        Ok(())
    }

    fn page(&mut self, after: Option<u64>, items_max: Option<usize>) -> HostResult<FeedPage> {
        self.call()?;
        let rest = self.items.range(after.map_or(0, |it| it + 1)..).map(|(number, _)| *number);
        let numbers: Vec<u64> = rest.collect();
        let shown = items_max.unwrap_or(usize::MAX).min(numbers.len());
        let next = (shown < numbers.len()).then(|| numbers[shown - 1]);
        let items = numbers[..shown].iter().map(|number| (*number, self.show(*number))).collect();
        Ok(FeedPage { items, next })
    }

    /// Knows three queries: everything, one parameter back, and `udf NAME`, which calls a function.
    fn query(
        &mut self,
        text: &str,
        parameters: &[(String, Value)],
        page: PageRequest<'_>,
    ) -> HostResult<QueryPage> {
        self.call()?;
        if text.starts_with("SELECT VALUE") {
            let rows = parameters.first().map(|(_, value)| Bytes::from(value.to_text()));
            return Ok(QueryPage { rows: rows.into_iter().collect(), continuation: None });
        }
        if let Some(name) = text.strip_prefix("udf ") {
            let result = script::call_udf(name, &[]);
            let result = result.map_err(|text| HostError::new(Status::BAD_REQUEST, text))?;
            let rows = result.into_iter().map(|value| Bytes::from(value.to_text())).collect();
            return Ok(QueryPage { rows, continuation: None });
        }
        if text != "SELECT * FROM c" {
            let message = "Syntax error, incorrect syntax near 'X'.";
            return Err(HostError::new(Status::BAD_REQUEST, message));
        }
        let after = page.continuation.map(|text| text.parse().unwrap());
        let FeedPage { items, next } = self.page(after, page.items_max)?;
        let rows = items.into_iter().map(|(_, item)| item).collect();
        Ok(QueryPage { rows, continuation: next.map(|next| next.to_string()) })
    }
}

/// Its items have no attachments and take none.
impl AttachmentHost for FakeHost {
    fn read_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        _: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        self.no_attachment(attachment.item)
    }

    fn create_attachment(&mut self, item: ItemRef<'_>, _: NewItem) -> HostResult<Option<Bytes>> {
        self.no_attachment(item)
    }

    fn upsert_attachment(
        &mut self,
        item: ItemRef<'_>,
        _: NewItem,
        _: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        self.no_attachment(item)
    }

    fn replace_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        _: NewItem,
        _: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        self.no_attachment(attachment.item)
    }

    fn delete_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        _: Option<&str>,
    ) -> HostResult<()> {
        self.no_attachment(attachment.item)
    }

    fn attachments(
        &mut self,
        item: ItemRef<'_>,
        _: Option<u64>,
        _: Option<usize>,
    ) -> HostResult<FeedPage> {
        self.call()?;
        self.find(item).map(|_| FeedPage::default())
    }

    fn query_attachments(
        &mut self,
        item: ItemRef<'_>,
        _: &str,
        _: &[(String, Value)],
        _: PageRequest<'_>,
    ) -> HostResult<QueryPage> {
        self.call()?;
        self.find(item).map(|_| QueryPage::default())
    }
}

/// A runtime and a host to run scripts against.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) host: Arc<Mutex<FakeHost>>,
}

pub(crate) fn limits() -> Limits {
    Limits {
        threads_max: 2,
        queue_max: 64,
        time_max: Duration::from_millis(800),
        accept_max: Duration::from_millis(500),
        memory_bytes_max: 16 << 20,
        ..Limits::service()
    }
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(limits())
    }

    pub(crate) fn with(limits: Limits) -> Bench {
        Bench::of(Env::system(), limits)
    }

    pub(crate) fn of(env: Env, limits: Limits) -> Bench {
        Bench { runtime: Runtime::new(env, limits), host: Arc::default() }
    }

    pub(crate) async fn run_role(&self, body: &str, role: Role) -> Result<Answer, Failed> {
        self.run_with_functions(body, role, &[]).await
    }

    /// The same with user-defined functions for its queries.
    pub(crate) async fn run_with_functions(
        &self,
        body: &str,
        role: Role,
        functions: &[Script],
    ) -> Result<Answer, Failed> {
        let script = script(body);
        let invocation = Invocation { script, role, functions: functions.into(), wants_log: true };
        self.runtime.invoke(self.host.clone(), invocation).await
    }

    /// Runs a procedure with arguments, a JSON array.
    pub(crate) async fn run_with(&self, body: &str, arguments: &str) -> Result<Answer, Failed> {
        let arguments = (!arguments.is_empty()).then(|| arguments.to_owned());
        self.run_role(body, Role::Procedure { arguments }).await
    }

    /// Runs a procedure and returns its body.
    #[track_caller]
    pub(crate) fn body(&self, body: &str) -> impl Future<Output = String> {
        let run = self.run_with(body, "");
        async move {
            let answer = run.await;
            match answer {
                Ok(answer) => answer.body.unwrap_or_default(),
                Err(failed) => panic!("{failed:?}\nin {body}"),
            }
        }
    }

    /// Runs a procedure that must fail, and returns status and message.
    pub(crate) async fn failure(&self, body: &str) -> (u16, u32, String) {
        match self.run_with(body, "").await {
            Ok(answer) => panic!("{answer:?}\nfrom {body}"),
            Err(Failed { error, .. }) => {
                (error.status().code, error.status().sub, error.to_string())
            }
        }
    }

    pub(crate) async fn pre(
        &self,
        body: &str,
        operation: Operation,
        request: &str,
    ) -> Result<Answer, Failed> {
        let request = Some(request.to_owned());
        self.run_role(body, Role::PreTrigger { operation, request }).await
    }

    pub(crate) async fn post(
        &self,
        body: &str,
        request: &str,
        response: &str,
    ) -> Result<Answer, Failed> {
        let (request, response) = (Some(request.to_owned()), Some(response.to_owned()));
        let operation = Operation::Create;
        self.run_role(body, Role::PostTrigger { operation, request, response }).await
    }

    pub(crate) fn add(&self, items: &[&str]) {
        let mut host = self.host.lock();
        for item in items {
            host.create(NewItem::given(item.as_bytes().to_vec()), false).unwrap();
        }
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let host = self.host.lock();
        let ids = host.items.values().map(|(_, item)| item.get("id").unwrap().as_str().unwrap());
        ids.map(str::to_owned).collect()
    }
}

pub(crate) fn script(body: &str) -> Script {
    Script { id: "s".into(), version: body.into(), body: body.into() }
}
