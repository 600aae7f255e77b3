//! Point reads against a bare hyper handler that returns the same bytes.

use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::load::{self, ROUNDS, Rounds, Source};
use super::setup::{CONTAINER, Subject};
use super::{Bench, CONNECTIONS, Table, bare};
use crate::client::{Connection, Request};

const ITEMS: u64 = 1000;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let subject = Subject::start(&bench.binary, &[], &bench.env).await?;
    subject.fill(0, ITEMS).await?;
    let recorded = subject.folder.path().join("response");
    let mut connection = Connection::open(&subject.server.authority).await?;
    let response = connection.send(&subject.read_request(0)?).await?.expect_success("read")?;
    bare::record(&response, &recorded)?;
    let baseline = Baseline::start(&recorded)?;
    for n in CONNECTIONS {
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            let rate = async |authority: &str| {
                let duration = bench.duration / ROUNDS;
                load::run(authority, sources(&subject, n)?, duration, 200, &bench.env).await
            };
            rounds.push(rate(&subject.server.authority).await?, rate(&baseline.authority).await?);
        }
        table.add(
            format!("point reads, {n} connections; bare hyper handler, same bytes"),
            rounds.ours(),
            rounds.baseline(),
            format!("{:.2}", rounds.ratio()),
            "≥ 0.5",
        );
    }
    binary_pages(bench, &subject, table).await?;
    subject.server.stop(&bench.env)
}

/// Pages of a feed in binary JSON against the same pages as text: bytes on the wire, and pages a second.
async fn binary_pages(bench: &Bench, subject: &Subject, table: &mut Table) -> Result<()> {
    let request = |form: &str| {
        Request::new("GET", format!("{CONTAINER}/docs"))
            .header("x-ms-documentdb-content-serialization-format", form)
            .header("x-ms-max-item-count", ITEMS.to_string())
            .sign(&subject.account)
    };
    let forms = [request("CosmosBinary")?, request("JsonText")?];
    let mut connection = Connection::open(&subject.server.authority).await?;
    let mut n_bytes = Vec::new();
    for form in &forms {
        let page = connection.send(form).await?.expect_success("a page")?;
        n_bytes.push(u32::try_from(page.body.len())?);
    }
    let [binary, text] = n_bytes[..] else { bail!("two pages") };
    table.add(
        format!("bytes of a page of {ITEMS} items in binary JSON; as text"),
        binary.to_string(),
        text.to_string(),
        format!("{:.2}", f64::from(binary) / f64::from(text)),
        "< 1",
    );
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let rate = async |form: &Vec<u8>| {
            let form = form.clone();
            let source: Source = Box::new(move |_| form.clone());
            let duration = bench.duration / ROUNDS;
            load::run(&subject.server.authority, vec![source], duration, 200, &bench.env).await
        };
        rounds.push(rate(&forms[0]).await?, rate(&forms[1]).await?);
    }
    let measure = format!("pages of {ITEMS} items in binary JSON, 1 connection; as text");
    table.add(measure, rounds.ours(), rounds.baseline(), format!("{:.2}", rounds.ratio()), "–");
    Ok(())
}

/// Signed reads of all items, prepared before the clock runs; each connection starts elsewhere.
pub(crate) fn sources(subject: &Subject, n_connections: usize) -> Result<Vec<Source>> {
    let requests: Vec<Vec<u8>> =
        (0..ITEMS).map(|n| subject.read_request(n)).collect::<Result<_>>()?;
    let requests = std::sync::Arc::new(requests);
    Ok((0..n_connections)
        .map(|connection| {
            let requests = std::sync::Arc::clone(&requests);
            let source: Source = Box::new(move |n| {
                let index = (connection * 61 + usize::try_from(n).unwrap_or(0)) % requests.len();
                requests[index].clone()
            });
            source
        })
        .collect())
}

struct Baseline {
    child: Child,
    authority: String,
}

impl Baseline {
    fn start(recorded: &std::path::Path) -> Result<Baseline> {
        use std::io::{BufRead as _, BufReader};
        let mut child = Command::new(std::env::current_exe()?)
            .arg("bare-handler")
            .arg(recorded)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the bare handler")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let authority = line
            .trim()
            .strip_prefix("ready http://")
            .map(|it| it.trim_end_matches('/').to_owned())
            .context("the bare handler is not ready")?;
        Ok(Baseline { child, authority })
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
