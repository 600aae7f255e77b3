//! The statements of bases and their chunks.
//!
//! Chunk 0 stands for the whole base: making it whole locks it, and so does removing it. Whichever is first wins, and a base
//! never has its row without its chunks.

use bytes::Bytes;
use tokio_postgres::Row;

use super::connection::Connection;
use super::entries::{look, unreadable};
use super::{signed, unsigned};
use crate::{Base, BaseDigest, BaseId, Chain, Error, JournalId, Position, Result};

/// Chunks that one statement deletes.
const SLICE: i32 = 64;

pub(super) async fn put_chunk(
    connection: &mut Connection,
    base: BaseId,
    chunk: u32,
    bytes: &[u8],
) -> Result<()> {
    let text = "INSERT INTO orrery.chunk (base, chunk, bytes) VALUES ($1, $2, $3) \
                ON CONFLICT DO NOTHING";
    connection.run(text, &[&signed(base.get()), &number(chunk)?, &bytes]).await?;
    Ok(())
}

pub(super) async fn publish(connection: &mut Connection, base: &Base) -> Result<bool> {
    let text = "
INSERT INTO orrery.base (id, journal, number, chain, chunks, digest)
SELECT $1::bigint, j.id, $3::bigint, $4::bigint, $5::int, $6::bytea
FROM (SELECT 1 FROM orrery.chunk WHERE base = $1 AND chunk = 0 FOR SHARE) first,
  (SELECT id FROM orrery.journal WHERE id = $2::bigint FOR KEY SHARE) j
WHERE (SELECT count(*) FROM orrery.chunk WHERE base = $1) = $5
ON CONFLICT DO NOTHING RETURNING id";
    let (id, journal) = (signed(base.id.get()), signed(base.journal.get()));
    let Position { number: at, chain } = base.position;
    let (at, chain, chunks) = (signed(at), signed(chain.get()), number(base.chunks)?);
    let digest: &[u8] = &base.digest;
    let rows = connection.run(text, &[&id, &journal, &at, &chain, &chunks, &digest]).await?;
    if !rows.is_empty() {
        return Ok(true);
    }
    // Once before, perhaps, with an answer that was lost.
    let rows = look(connection.run("SELECT id FROM orrery.base WHERE id = $1", &[&id]).await)?;
    Ok(!rows.is_empty())
}

pub(super) async fn confirm(
    connection: &mut Connection,
    base: BaseId,
    digest: &BaseDigest,
) -> Result<bool> {
    let text = "UPDATE orrery.base SET confirmed = confirmed + 1 WHERE id = $1 AND digest = $2 \
                RETURNING id";
    let digest: &[u8] = digest;
    Ok(!connection.run(text, &[&signed(base.get()), &digest]).await?.is_empty())
}

pub(super) async fn discard(connection: &mut Connection, base: BaseId) -> Result<()> {
    let message = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SELECT 1 FROM orrery.chunk WHERE base = {base} AND chunk = 0 FOR UPDATE; \
         DELETE FROM orrery.base WHERE id = {base} AND confirmed = 0; \
         DELETE FROM orrery.chunk WHERE base = {base} AND chunk = 0 \
         AND NOT EXISTS (SELECT FROM orrery.base WHERE id = {base}); \
         COMMIT"
    );
    connection.run_message(&message).await?;
    delete_chunks(connection, base).await
}

/// Removes the bases of a journal whose number is lower.
pub(super) async fn remove_before(
    connection: &mut Connection,
    journal: JournalId,
    before: i64,
) -> Result<()> {
    let text = "DELETE FROM orrery.base WHERE journal = $1 AND number < $2 RETURNING id";
    let rows = connection.run(text, &[&signed(journal.get()), &before]).await?;
    for row in rows {
        let base: i64 = row.try_get(0).map_err(unreadable)?;
        delete_chunks(connection, BaseId::new(unsigned(base))).await?;
    }
    Ok(())
}

/// Deletes the chunks of a base that has no row any more. Its maker cannot finish it without chunk 0, or with fewer than all.
async fn delete_chunks(connection: &mut Connection, base: BaseId) -> Result<()> {
    let text = "
DELETE FROM orrery.chunk WHERE base = $1 AND chunk < $2 + (
  SELECT min(chunk) FROM orrery.chunk WHERE base = $1)
  AND NOT EXISTS (SELECT FROM orrery.base WHERE id = $1) RETURNING chunk";
    while !connection.run(text, &[&signed(base.get()), &SLICE]).await?.is_empty() {}
    Ok(())
}

pub(super) async fn bases(connection: &mut Connection, journal: JournalId) -> Result<Vec<Base>> {
    let text = "SELECT id, number, chain, chunks, digest, confirmed FROM orrery.base \
                WHERE journal = $1 ORDER BY number DESC, id DESC";
    let rows = look(connection.run(text, &[&signed(journal.get())]).await)?;
    rows.iter().map(|row| base_of(row, journal)).collect()
}

pub(super) async fn chunk(
    connection: &mut Connection,
    base: BaseId,
    chunk: u32,
) -> Result<Option<Bytes>> {
    let text = "SELECT bytes FROM orrery.chunk WHERE base = $1 AND chunk = $2";
    let rows = look(connection.run(text, &[&signed(base.get()), &number(chunk)?]).await)?;
    let bytes = |row: &Row| row.try_get::<_, Vec<u8>>(0).map(Bytes::from).map_err(unreadable);
    rows.first().map(bytes).transpose()
}

pub(super) async fn unfinished(connection: &mut Connection) -> Result<Vec<(BaseId, u32)>> {
    let text = "SELECT base, count(*)::int FROM orrery.chunk c \
                WHERE NOT EXISTS (SELECT FROM orrery.base b WHERE b.id = c.base) \
                GROUP BY base ORDER BY base";
    let rows = look(connection.run(text, &[]).await)?;
    let found = |row: &Row| {
        let base: i64 = row.try_get(0).map_err(unreadable)?;
        let chunks: i32 = row.try_get(1).map_err(unreadable)?;
        Ok((BaseId::new(unsigned(base)), chunks.cast_unsigned()))
    };
    rows.iter().map(found).collect()
}

fn base_of(row: &Row, journal: JournalId) -> Result<Base> {
    let column = |index| row.try_get::<_, i64>(index).map(unsigned).map_err(unreadable);
    let count = |index| row.try_get::<_, i32>(index).map(i32::cast_unsigned).map_err(unreadable);
    let digest: &[u8] = row.try_get(4).map_err(unreadable)?;
    let broken = |_| Error::Corrupt("a base with a digest of another length".into());
    Ok(Base {
        id: BaseId::new(column(0)?),
        journal,
        position: Position { number: column(1)?, chain: Chain::new(column(2)?) },
        chunks: count(3)?,
        digest: digest.try_into().map_err(broken)?,
        confirmed: count(5)?,
    })
}

fn number(chunk: u32) -> Result<i32> {
    i32::try_from(chunk).map_err(|_| Error::Corrupt("too many chunks".into()))
}
