//! A disk that keeps what was synced, and of the rest whatever it likes.
//!
//! Replays the record of a process (`recorder.c`) and makes images of what a power cut may leave:
//! - a file has what was synced; each sector of 512 bytes written since may be there or not;
//! - a folder has the names of its last sync, or of any moment since.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;

/// One thing that the process did.
pub(crate) enum Event {
    Write { inode: u64, at: u64, bytes: Vec<u8> },
    Truncate { inode: u64, length: u64 },
    SyncFile { inode: u64 },
    Names(Vec<Folder>),
    SyncFolder(String),
}

/// The names in a folder.
#[derive(Clone, Default)]
pub(crate) struct Folder {
    pub(crate) path: String,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) inode: u64,
    is_folder: bool,
}

/// Reads a record.
pub(crate) fn read_record(path: &Path) -> Vec<Event> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(path).unwrap());
    let mut events = Vec::new();
    let mut kind = [0];
    while input.read_exact(&mut kind).is_ok() {
        let mut number = || {
            let mut bytes = [0; 8];
            input.read_exact(&mut bytes).unwrap();
            u64::from_le_bytes(bytes)
        };
        let event = match kind {
            [b'W'] => {
                let (inode, at, n) = (number(), number(), number());
                Event::Write { inode, at, bytes: read_bytes(&mut input, n) }
            }
            [b'T'] => Event::Truncate { inode: number(), length: number() },
            [b'Y'] => Event::SyncFile { inode: number() },
            [b'L'] => {
                let n = number();
                Event::Names(parse(&String::from_utf8(read_bytes(&mut input, n)).unwrap()))
            }
            [b'F'] => {
                let n = number();
                Event::SyncFolder(String::from_utf8(read_bytes(&mut input, n)).unwrap())
            }
            [other] => unreachable!("event {other}"),
        };
        events.push(event);
    }
    events
}

fn read_bytes(input: &mut impl Read, n: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(n).unwrap()];
    input.read_exact(&mut bytes).unwrap();
    bytes
}

fn parse(text: &str) -> Vec<Folder> {
    let mut folders: Vec<Folder> = Vec::new();
    for line in text.lines() {
        let (kind, rest) = line.split_at(2);
        if kind == "D " {
            folders.push(Folder { path: rest.into(), entries: Vec::new() });
            continue;
        }
        let (inode, name) = rest.split_once(' ').unwrap();
        let entry =
            Entry { name: name.into(), inode: inode.parse().unwrap(), is_folder: kind == "d " };
        folders.last_mut().unwrap().entries.push(entry);
    }
    folders
}

/// A file: what was synced, and what was done since, in order.
#[derive(Default)]
struct Content {
    synced: Vec<u8>,
    since: Vec<Change>,
}

enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Truncate(u64),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>, mut keeps: impl FnMut() -> bool) {
        match self {
            Change::Truncate(length) => {
                if keeps() {
                    content.resize(usize::try_from(*length).unwrap(), 0);
                }
            }
            Change::Write { at, bytes } => {
                let start = usize::try_from(*at).unwrap();
                let mut at = start;
                while at < start + bytes.len() {
                    // Sectors of the file, not of the write.
                    let end = ((at / SECTOR + 1) * SECTOR).min(start + bytes.len());
                    if keeps() {
                        content.resize(content.len().max(end), 0);
                        content[at..end].copy_from_slice(&bytes[at - start..end - start]);
                    }
                    at = end;
                }
            }
        }
    }
}

/// What of the unsynced a cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Luck {
    Nothing,
    Everything,
    Some,
}

#[derive(Default)]
pub(crate) struct Disk {
    files: HashMap<u64, Content>,
    /// All listings so far, and which of them was there when a folder was synced.
    names: Vec<Vec<Folder>>,
    synced_folders: HashMap<String, usize>,
}

impl Disk {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Write { inode, at, bytes } => {
                let change = Change::Write { at: *at, bytes: bytes.clone() };
                self.files.entry(*inode).or_default().since.push(change);
            }
            Event::Truncate { inode, length } => {
                let content = self.files.entry(*inode).or_default();
                content.since.push(Change::Truncate(*length));
            }
            Event::SyncFile { inode } => {
                let content = self.files.entry(*inode).or_default();
                for change in std::mem::take(&mut content.since) {
                    change.apply(&mut content.synced, || true);
                }
            }
            Event::Names(folders) => {
                for folder in folders {
                    // A new folder is empty until it is synced.
                    let next = self.names.len();
                    self.synced_folders.entry(folder.path.clone()).or_insert(next);
                }
                self.names.push(folders.clone());
            }
            Event::SyncFolder(path) => {
                self.synced_folders.insert(path.clone(), self.names.len() - 1);
            }
        }
    }

    /// The inode of a file right below the root, now.
    pub(crate) fn inode_of(&self, name: &str) -> Option<u64> {
        let root = self.names.last()?.iter().find(|folder| folder.path.is_empty())?;
        root.entries.iter().find(|entry| entry.name == name).map(|entry| entry.inode)
    }

    /// Writes what a power cut leaves now to `target`.
    pub(crate) fn image(&self, target: &Path, luck: Luck, random: &impl Fn(u64) -> u64) {
        self.image_folder("", target, luck, random);
    }

    fn image_folder(&self, path: &str, target: &Path, luck: Luck, random: &impl Fn(u64) -> u64) {
        fs::create_dir_all(target).unwrap();
        let now = self.names.len() - 1;
        let synced = self.synced_folders.get(path).copied().unwrap_or(now);
        let at = match luck {
            Luck::Nothing => synced,
            Luck::Everything => now,
            Luck::Some => synced + usize::try_from(random((now - synced + 1) as u64)).unwrap(),
        };
        let Some(folder) = self.names[at].iter().find(|folder| folder.path == path) else { return };
        for entry in &folder.entries {
            let to: PathBuf = target.join(&entry.name);
            if entry.is_folder {
                self.image_folder(&format!("{path}/{}", entry.name), &to, luck, random);
            } else if !matches!(entry.name.as_str(), "RESERVE" | "ACKS") {
                self.image_file(entry.inode, &to, luck, random);
            }
        }
    }

    fn image_file(&self, inode: u64, to: &Path, luck: Luck, random: &impl Fn(u64) -> u64) {
        let mut file = File::create(to).unwrap();
        let Some(content) = self.files.get(&inode) else { return };
        let mut bytes = content.synced.clone();
        for change in &content.since {
            change.apply(&mut bytes, || match luck {
                Luck::Nothing => false,
                Luck::Everything => true,
                Luck::Some => random(2) == 0,
            });
        }
        // Logs are mostly zeros.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        file.write_all(&bytes[..end]).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
    }

    /// What the process wrote to a file, synced or not.
    pub(crate) fn written(&self, inode: u64) -> Vec<u8> {
        let Some(content) = self.files.get(&inode) else { return Vec::new() };
        let mut bytes = content.synced.clone();
        for change in &content.since {
            change.apply(&mut bytes, || true);
        }
        bytes
    }
}

/// Appends in one write.
pub(crate) fn append(file: &File, line: &str) {
    let at = file.metadata().unwrap().len();
    file.write_all_at(line.as_bytes(), at).unwrap();
}
