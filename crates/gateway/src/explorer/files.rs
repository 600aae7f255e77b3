//! The files of the page, as they are in the program. Flat table.
//!
//! They are compressed once, when somebody first asks for them so.

use std::sync::OnceLock;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::gzip;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        /// Every file of the folder, by its path in it.
        const FILES: &[(&str, &[u8])] = &[$(($path, include_bytes!(concat!("files/", $path)))),*];
    };
}

files![
    "css/base.css",
    "css/rooms.css",
    "css/screens.css",
    "css/tokens.css",
    "favicon.svg",
    "index.html",
    "js/advise.js",
    "js/api.js",
    "js/bulk.js",
    "js/code.js",
    "js/complete.js",
    "js/connect.js",
    "js/cost.js",
    "js/create.js",
    "js/data.js",
    "js/diagnosis.js",
    "js/diff.js",
    "js/dom.js",
    "js/editor.js",
    "js/feed.js",
    "js/gauges.js",
    "js/heat.js",
    "js/heatdata.js",
    "js/itemedit.js",
    "js/jobs.js",
    "js/json.js",
    "js/keys.js",
    "js/lab.js",
    "js/lineage.js",
    "js/live.js",
    "js/logo.js",
    "js/lorenz.js",
    "js/main.js",
    "js/map.js",
    "js/mapdraw.js",
    "js/mapside.js",
    "js/overview.js",
    "js/palette.js",
    "js/query.js",
    "js/results.js",
    "js/sample.js",
    "js/scripts.js",
    "js/settings.js",
    "js/shares.js",
    "js/shell.js",
    "js/sql.js",
    "js/states.js",
    "js/strip.js",
    "js/upload.js",
    "js/wire.js",
    "js/world.js",
];

/// A file as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Representation {
    pub(super) kind: &'static str,
    pub(super) etag: String,
    pub(super) bytes: Bytes,
    /// With gzip.
    pub(super) is_packed: bool,
}

/// Plain, and packed if that is smaller.
type Prepared = (Representation, Option<Representation>);

static PREPARED: [OnceLock<Option<Prepared>>; FILES.len()] =
    [const { OnceLock::new() }; FILES.len()];

/// The file of that path.
pub(super) fn find(path: &str, takes_gzip: bool) -> Option<Representation> {
    let index = FILES.iter().position(|(known, _)| *known == path)?;
    let (path, bytes) = FILES.get(index)?;
    let prepared = PREPARED.get(index)?.get_or_init(|| Some(prepare(kind(path)?, bytes)));
    let (plain, packed) = prepared.as_ref()?;
    Some(packed.as_ref().filter(|_| takes_gzip).unwrap_or(plain).clone())
}

fn prepare(kind: &'static str, bytes: &'static [u8]) -> Prepared {
    let bytes = Bytes::from_static(bytes);
    let packed = gzip::deflate_best(&bytes).map(|packed| Representation {
        kind,
        etag: etag(&bytes, true),
        bytes: packed,
        is_packed: true,
    });
    (Representation { kind, etag: etag(&bytes, false), bytes, is_packed: false }, packed)
}

/// The content decides; each form has a tag of its own.
pub(super) fn etag(bytes: &[u8], is_packed: bool) -> String {
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
    format!("\"{digest}{}\"", if is_packed { "-gzip" } else { "" })
}

/// What a browser is told that a file is; none if it is not one that a page has.
pub(super) fn kind(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn the_table_has_every_file_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explorer/files");
        let mut found = Vec::new();
        walk(&folder, &mut found);
        let name = |path: &PathBuf| {
            path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/")
        };
        let mut found: Vec<String> = found.iter().map(name).collect();
        found.sort();
        let mut listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        listed.sort_unstable();
        assert_eq!(
            listed, found,
            "crates/gateway/src/explorer/files.rs lists the files of the folder"
        );
    }

    #[test]
    fn every_file_can_be_sent() {
        for (path, bytes) in FILES {
            let plain = find(path, false).unwrap_or_else(|| panic!("{path} has no type"));
            assert_eq!(plain.bytes, *bytes);
            assert!(!plain.is_packed);
            let packed = find(path, true).unwrap();
            assert!(packed.bytes.len() <= bytes.len());
            assert_eq!(packed.is_packed, packed.etag != plain.etag, "{path}");
        }
        assert!(find("other.html", true).is_none());
    }
}
