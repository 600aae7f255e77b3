//! The engine's log as bytes: checked, and its torn end cut off, before the engine reads it.
//!
//! A power cut can leave the last group on disk in part, and not only its first part: the kernel
//! writes pages in any order. The engine takes some of these logs for an error and refuses to
//! open, takes others for the end of the log, and in debug builds panics. Here one rule holds:
//! - what follows the last whole batch of the newest log was never acknowledged, and is cut off;
//! - anything else that is broken is damage to acknowledged data, and is reported, not cut;
//! - so is a log that the manifest knows and that is gone, or has less in it than was synced.
//!
//! A log ends where only zeros follow: one zero byte may be a batch whose begin was lost.
//!
//! ```text
//! log    start entry… end, start entry… end, …, zeros or nothing
//! start  01 · number of entries u32 · sequence number u64
//! entry  02 · kind u8 · compression u8 · keyspace u64 · key length u16 · value length u32 ·
//!        stored length u32 · key · value          or   04 · keyspace u64
//! end    03 · xxh3 of the entries u64 · "FJL" 03  (all integers little-endian)
//! ```
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::files;
use super::manifest::LogNote;
use crate::{Error, Result};

const START: u8 = 1;
const ENTRY: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const TRAILER: &[u8; 4] = b"FJL\x03";

/// Bytes of a start: a tag and two numbers.
const HEAD_BYTES: usize = 13;

const READ_BYTES: usize = 64 << 10;
const ZEROS_BYTES: usize = 4 << 10;

/// Bytes read in search of batches behind a broken one.
// Limit: values are a client's, and could be made to look like the begin of very many batches.
// Beyond it the log counts as damaged: a person decides.
const TRIED_BYTES_MAX: u64 = 1 << 30;

/// A log file.
#[derive(Debug)]
struct Log {
    id: u64,
    path: PathBuf,
}

/// The numbers of the first and the last batch of a log.
type Span = Option<(u64, u64)>;

/// Checks every log in `dir` and cuts off the torn end of the newest. Returns what is known of each.
///
/// `notes` tells what the logs had, and `version` which list of tables is current. With `is_lenient` the newest log is cut at
/// its first broken batch even if whole ones follow: a power cut leaves that when groups are not synced one by one.
pub(super) fn repair(
    dir: &Path,
    notes: &[LogNote],
    version: u64,
    is_lenient: bool,
) -> Result<Vec<LogNote>> {
    let logs = logs_of(dir).map_err(|error| failed(dir, &error))?;
    let Some((newest, older)) = logs.split_last() else {
        let id = notes.last().map_or(0, |note| note.id);
        return Err(files::damaged(&dir.join(format!("{id}.jnl")), "is missing"));
    };
    check_missing(dir, &logs, notes, version)?;
    let mut last_number = None;
    let mut found = Vec::new();
    for log in older {
        // An older log was synced whole before the next one was begun.
        let (span, broken) = check(&log.path, &mut last_number)?;
        if let Some(at) = broken {
            return Err(damaged(&log.path, at));
        }
        found.push(compare(log, span, notes, false)?);
    }
    let (span, broken) = check(&newest.path, &mut last_number)?;
    let compared = |span| compare(newest, span, notes, is_lenient);
    let Some(at) = broken else {
        found.push(compared(span)?);
        return Ok(found);
    };
    let is_torn = is_lenient
        || !has_whole_batch_after(&newest.path, at)
            .map_err(|error| failed(&newest.path, &error))?;
    if !is_torn {
        return Err(damaged(&newest.path, at));
    }
    found.push(compared(span)?);
    tracing::warn!(log = %newest.path.display(), at, "cut off a write that was not finished");
    cut(&newest.path, at).map_err(|error| failed(&newest.path, &error))?;
    Ok(found)
}

/// The engine deletes a log, and never the newest, when tables have all of it: then there is a later list of tables than
/// before its last batch.
fn check_missing(dir: &Path, logs: &[Log], notes: &[LogNote], version: u64) -> Result<()> {
    for note in notes {
        let is_there = logs.iter().any(|log| log.id == note.id);
        let is_newest = logs.iter().all(|log| log.id < note.id);
        let is_in_tables = note.reached == 0 || version > note.version;
        if !is_there && (is_newest || !is_in_tables) {
            return Err(files::damaged(&dir.join(format!("{}.jnl", note.id)), "is missing"));
        }
    }
    Ok(())
}

/// Compares the numbers in a log with those that were noted. Returns the note for the next start.
fn compare(log: &Log, span: Span, notes: &[LogNote], is_lenient: bool) -> Result<LogNote> {
    let note = notes.iter().find(|note| note.id == log.id).copied();
    let note = note.unwrap_or(LogNote { id: log.id, ..LogNote::default() });
    if let Some((first, _)) = span
        && first < note.from
    {
        let why = format!(
            "is an old one: it begins with batch {first}, and had none below {}",
            note.from
        );
        return Err(files::damaged(&log.path, &why));
    }
    let last = span.map_or(0, |(_, last)| last);
    if last < note.reached {
        let why = format!("ends with batch {last}, and batch {} was synced", note.reached);
        if !is_lenient {
            return Err(files::damaged(&log.path, &why));
        }
        tracing::error!(log = %log.path.display(), "the log {why}; given up as asked for");
    }
    // The engine syncs what it reads here. Which list of tables came before is not known if this was not noted.
    let version = if last == note.reached { note.version } else { 0 };
    Ok(LogNote { reached: last, version, ..note })
}

/// Whether no log has anything but zeros.
pub(super) fn are_blank(dir: &Path) -> io::Result<bool> {
    for log in logs_of(dir)? {
        let mut file = File::open(&log.path)?;
        if !is_zeros(&mut file)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_zeros(input: &mut impl Read) -> io::Result<bool> {
    let mut buffer = [0; ZEROS_BYTES];
    loop {
        let n_read = input.read(&mut buffer)?;
        match buffer.get(..n_read) {
            None | Some([]) => return Ok(true),
            Some(bytes) if bytes.iter().all(|byte| *byte == 0) => {}
            Some(_) => return Ok(false),
        }
    }
}

/// Empties the newest log. Only when the tables hold, synced, all that it says.
pub(super) fn empty_newest(dir: &Path) -> Result<()> {
    let logs = logs_of(dir).map_err(|error| failed(dir, &error))?;
    let Some(newest) = logs.last() else { return Ok(()) };
    cut(&newest.path, 0).map_err(|error| failed(&newest.path, &error))
}

/// The logs, oldest first. Other files are none of our business.
fn logs_of(dir: &Path) -> io::Result<Vec<Log>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        if let Some(id) = number
            && path.extension().is_some_and(|extension| extension == "jnl")
        {
            logs.push(Log { id, path });
        }
    }
    logs.sort_by_key(|log| log.id);
    Ok(logs)
}

/// Reads a log to its end. Returns the numbers of its batches, and where the first one begins that is not whole.
fn check(path: &Path, last_number: &mut Option<u64>) -> Result<(Span, Option<u64>)> {
    let open = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = open.map_err(|error| failed(path, &error))?;
    let mut batches = Batches::new(BufReader::with_capacity(READ_BYTES, file), length);
    let mut span: Span = None;
    loop {
        let at = batches.position;
        match batches.next().map_err(|error| failed(path, &error))? {
            ParsedBatch::Whole(number) => {
                // The checksum does not cover the number, but commit order does.
                if last_number.is_some_and(|last| number <= last) {
                    return Err(damaged(path, at));
                }
                *last_number = Some(number);
                span = Some((span.map_or(number, |(first, _)| first), number));
            }
            ParsedBatch::Nothing => return Ok((span, None)),
            ParsedBatch::Broken => return Ok((span, Some(at))),
        }
    }
}

/// Returns true if a whole batch stands anywhere after the broken one at `at`: then the broken one
/// was synced once, because its group was acknowledged before the next was written.
fn has_whole_batch_after(path: &Path, at: u64) -> io::Result<bool> {
    let mut rest = Vec::new();
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    file.read_to_end(&mut rest)?;
    // Logs are set to their length in advance: most of the rest is zeros.
    while rest.ends_with(&[0; ZEROS_BYTES]) {
        rest.truncate(rest.len() - ZEROS_BYTES);
    }
    let heads = rest.windows(HEAD_BYTES + 1).enumerate().skip(1);
    let heads = heads.filter(|(_, head)| matches!(head, [START, .., ENTRY | CLEAR]));
    let mut n_tried = 0;
    for (start, _) in heads {
        let after = rest.get(start..).unwrap_or_default();
        let mut batches = Batches::new(after, after.len() as u64);
        if let ParsedBatch::Whole(_) = batches.next()? {
            return Ok(true);
        }
        n_tried += batches.position;
        if n_tried > TRIED_BYTES_MAX {
            return Ok(true);
        }
    }
    Ok(false)
}

fn cut(path: &Path, at: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(at)?;
    file.sync_all()
}

/// What stands at a place where a batch may begin.
#[derive(Debug, PartialEq, Eq)]
enum ParsedBatch {
    /// A whole batch with this sequence number.
    Whole(u64),
    /// The end of the log.
    Nothing,
    /// Something else.
    Broken,
}

struct Batches<R> {
    input: R,
    position: u64,
    length: u64,
    hash: Xxh3,
}

impl<R: Read> Batches<R> {
    fn new(input: R, length: u64) -> Batches<R> {
        Batches { input, position: 0, length, hash: Xxh3::new() }
    }

    fn next(&mut self) -> io::Result<ParsedBatch> {
        match self.take::<1>()? {
            None => return Ok(ParsedBatch::Nothing),
            Some([0]) => {
                let is_end = is_zeros(&mut self.input)?;
                return Ok(if is_end { ParsedBatch::Nothing } else { ParsedBatch::Broken });
            }
            Some([START]) => {}
            Some([_]) => return Ok(ParsedBatch::Broken),
        }
        let whole = self.batch()?;
        Ok(whole.map_or(ParsedBatch::Broken, ParsedBatch::Whole))
    }

    /// Reads a batch after its tag and returns its number, or `None` if it is not whole.
    fn batch(&mut self) -> io::Result<Option<u64>> {
        let Some(n_entries) = self.take::<4>()?.map(u32::from_le_bytes) else { return Ok(None) };
        let Some(number) = self.take::<8>()?.map(u64::from_le_bytes) else { return Ok(None) };
        self.hash.reset();
        for _ in 0..n_entries {
            if self.entry()?.is_none() {
                return Ok(None);
            }
        }
        let expected = self.hash.digest();
        let is_whole = self.take::<1>()? == Some([END])
            && self.take::<8>()?.map(u64::from_le_bytes) == Some(expected)
            && self.take::<4>()?.as_ref() == Some(TRAILER);
        Ok(is_whole.then_some(number))
    }

    fn entry(&mut self) -> io::Result<Option<()>> {
        match self.take_hashed::<1>()? {
            Some([ENTRY]) => {}
            Some([CLEAR]) => return Ok(self.take_hashed::<8>()?.map(drop)),
            Some([_]) | None => return Ok(None),
        }
        let Some([_kind, compression]) = self.take_hashed::<2>()? else { return Ok(None) };
        let Some(_keyspace) = self.take_hashed::<8>()? else { return Ok(None) };
        let Some(key) = self.take_hashed::<2>()?.map(u16::from_le_bytes) else { return Ok(None) };
        let Some(value) = self.take_hashed::<4>()?.map(u32::from_le_bytes) else { return Ok(None) };
        let Some(stored) = self.take_hashed::<4>()?.map(u32::from_le_bytes) else {
            return Ok(None);
        };
        // We never turn compression on.
        if compression != 0 || value != stored {
            return Ok(None);
        }
        self.skip_hashed(u64::from(key) + u64::from(stored))
    }

    fn take_hashed<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let bytes = self.take::<N>()?;
        if let Some(bytes) = &bytes {
            self.hash.update(bytes);
        }
        Ok(bytes)
    }

    /// Reads the next bytes; `None` if the log ends before.
    fn take<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.length - self.position < N as u64 {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(Some(bytes))
    }

    fn skip_hashed(&mut self, n_bytes: u64) -> io::Result<Option<()>> {
        if self.length - self.position < n_bytes {
            return Ok(None);
        }
        let mut left = n_bytes;
        let mut buffer = [0; 8 << 10];
        while left > 0 {
            let n_wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let chunk = buffer.get_mut(..n_wanted).unwrap_or_default();
            self.input.read_exact(chunk)?;
            self.hash.update(chunk);
            left -= n_wanted as u64;
        }
        self.position += n_bytes;
        Ok(Some(()))
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot check {}: {error}", path.display()))
}

fn damaged(path: &Path, at: u64) -> Error {
    Error::Corrupt(format!(
        "log {} is damaged at byte {at}, and acknowledged writes follow; restore a backup, or open \
         the store once with relaxed durability to give up what follows",
        path.display()
    ))
}

/// Repairs a log of these bytes in an empty folder, twice; used by the fuzz target.
pub(crate) fn fuzz(dir: &Path, bytes: &[u8]) {
    let path = dir.join("0.jnl");
    let _ = fs::write(&path, bytes);
    for is_lenient in [false, true] {
        let Ok(found) = repair(dir, &[], 0, is_lenient) else { continue };
        let left = fs::read(&path).unwrap_or_default();
        assert!(bytes.starts_with(&left), "a log is cut, and nothing else");
        assert_eq!(repair(dir, &found, 0, false), Ok(found), "what was repaired is whole");
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(n_batches: u64) -> Vec<u8> {
        let mut log = Vec::new();
        for number in 1..=n_batches {
            let mut entries = vec![ENTRY, 0, 0];
            entries.extend(1_u64.to_le_bytes());
            entries.extend(3_u16.to_le_bytes());
            entries.extend([20_u32.to_le_bytes(); 2].concat());
            entries.extend([7; 23]);
            log.push(START);
            log.extend(1_u32.to_le_bytes());
            log.extend(number.to_le_bytes());
            log.extend(&entries);
            log.push(END);
            log.extend(xxhash_rust::xxh3::xxh3_64(&entries).to_le_bytes());
            log.extend(TRAILER);
        }
        log
    }

    fn repaired(content: &[u8], is_lenient: bool) -> Result<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.jnl");
        fs::write(&path, content).unwrap();
        repair(dir.path(), &[], 0, is_lenient).map(|_| fs::read(&path).unwrap())
    }

    fn note(id: u64, from: u64, reached: u64, version: u64) -> LogNote {
        LogNote { id, from, reached, version }
    }

    #[test]
    fn a_whole_log_is_left_alone() {
        let mut content = log(3);
        assert_eq!(repaired(&content, false), Ok(content.clone()));
        content.resize(content.len() + 100, 0);
        assert_eq!(repaired(&content, false), Ok(content.clone()));
        assert_eq!(repaired(&[], false), Ok(Vec::new()));
    }

    #[test]
    fn a_torn_end_is_cut_off_wherever_it_is_torn() {
        let (content, whole) = (log(3), log(2));
        for cut in whole.len() + 1..content.len() {
            assert_eq!(repaired(&content[..cut], false).as_ref(), Ok(&whole), "cut at {cut}");
            let mut with_hole = content.clone();
            with_hole[cut] ^= 0xff;
            let found = repaired(&with_hole, false);
            // The number itself is not covered by the checksum.
            let is_number = (whole.len() + 5..whole.len() + 13).contains(&cut);
            assert_eq!(found.as_ref(), Ok(if is_number { &with_hole } else { &whole }), "{cut}");
        }
    }

    #[test]
    fn damage_before_whole_batches_is_reported_and_cut_only_on_demand() {
        let (content, whole) = (log(3), log(1));
        for at in whole.len()..log(2).len() {
            let mut damaged = content.clone();
            damaged[at] ^= 0xff;
            assert!(matches!(repaired(&damaged, false), Err(Error::Corrupt(_))), "{at}");
            let is_number = (whole.len() + 5..whole.len() + 13).contains(&at);
            if !is_number {
                assert_eq!(repaired(&damaged, true).as_ref(), Ok(&whole), "{at}");
            }
        }
    }

    #[test]
    fn a_broken_older_log_is_never_cut() {
        let dir = tempfile::tempdir().unwrap();
        let torn = &log(2)[..90];
        fs::write(dir.path().join("9.jnl"), torn).unwrap();
        fs::write(dir.path().join("10.jnl"), log(1)).unwrap();
        assert!(matches!(repair(dir.path(), &[], 0, true), Err(Error::Corrupt(_))));
        assert_eq!(fs::read(dir.path().join("9.jnl")).unwrap(), torn);
    }

    /// One byte or one sector of zeros where a batch began is not the end of the log.
    #[test]
    fn zeros_are_the_end_only_if_nothing_else_follows() {
        let (content, whole) = (log(20), log(3));
        for n_zeros in [1, 13, 100, 512] {
            let mut damaged = content.clone();
            damaged[whole.len()..whole.len() + n_zeros].fill(0);
            assert!(matches!(repaired(&damaged, false), Err(Error::Corrupt(_))), "{n_zeros}");
            damaged.resize(damaged.len() + 9_000, 0);
            assert!(matches!(repaired(&damaged, false), Err(Error::Corrupt(_))), "{n_zeros}");
            assert_eq!(repaired(&damaged, true).as_ref(), Ok(&whole), "given up on demand");
        }
        // Only the last batch: its begin may never have come to the disk.
        let mut torn = log(4);
        torn[whole.len()] = 0;
        assert_eq!(repaired(&torn, false).as_ref(), Ok(&whole));
    }

    #[test]
    fn logs_are_compared_with_what_was_noted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("7.jnl"), log(5)).unwrap();
        #[rustfmt::skip]
        let table = [
            (vec![],                                    "",            note(7, 0, 5, 0)),
            (vec![note(7, 1, 5, 9)],                    "",            note(7, 1, 5, 9)),
            (vec![note(7, 1, 6, 9)],                    "was synced",  LogNote::default()),
            (vec![note(7, 2, 5, 9)],                    "an old one",  LogNote::default()),
            (vec![note(7, 1, 5, 9), note(8, 6, 0, 0)],  "8.jnl is missing", LogNote::default()),
            // Its batches are in tables, or no table can have them.
            (vec![note(6, 0, 1, 8), note(7, 1, 5, 9)],  "",            note(7, 1, 5, 9)),
            (vec![note(6, 0, 1, 9), note(7, 1, 5, 9)],  "6.jnl is missing", LogNote::default()),
            // The engine began log 7 and deleted log 6 while nobody looked.
            (vec![note(6, 0, 1, 8)],                    "",            note(7, 0, 5, 0)),
        ];
        for (notes, refusal, expected) in table {
            match repair(dir.path(), &notes, 9, false) {
                Ok(found) => assert_eq!((found, refusal), (vec![expected], ""), "{notes:?}"),
                Err(Error::Corrupt(text)) => {
                    assert!(!refusal.is_empty() && text.contains(refusal), "{notes:?}: {text}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        fs::remove_file(dir.path().join("7.jnl")).unwrap();
        assert!(matches!(repair(dir.path(), &[], 9, true), Err(Error::Corrupt(_))));
    }

    /// `ORRERY_LOG_INPUTS` makes it a long run.
    #[test]
    fn damaged_logs_are_cut_or_refused_without_a_panic() {
        let n_inputs = std::env::var("ORRERY_LOG_INPUTS").map_or(300, |n| n.parse().unwrap());
        let env = model::Env::fixed(7, 0);
        let random = |n: usize| usize::try_from(env.random_u64()).unwrap() % n.max(1);
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..n_inputs {
            let mut bytes = log(env.random_u64() % 5);
            bytes.extend(vec![0; random(40)]);
            for _ in 0..random(4) {
                let (at, length) = (random(bytes.len()), random(60));
                let end = (at + length).min(bytes.len());
                match random(6) {
                    0 => bytes.truncate(at),
                    1 => bytes[at..end].fill(0),
                    2 => drop(bytes.drain(at..end)),
                    3 => bytes.extend_from_within(at..end),
                    4 => env.fill_random(&mut bytes[at..end]),
                    _ => {
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte ^= 1 << random(8);
                        }
                    }
                }
            }
            fuzz(dir.path(), &bytes);
        }
    }
}
