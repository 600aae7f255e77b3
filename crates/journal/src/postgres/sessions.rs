//! The statements of sessions and of the cluster's row.

use tokio_postgres::Row;

use super::connection::Connection;
use super::entries::{look, unreadable};
use super::{signed, unsigned};
use crate::{Beat, ClusterFacts, Error, Member, NewMember, Registered, Result, SessionId};

const MEMBER: &str = "SELECT session, name, addresses, level_max, beat, ended FROM orrery.member \
                      ORDER BY session";

pub(super) async fn register(connection: &mut Connection, new: &NewMember) -> Result<Registered> {
    let text = "INSERT INTO orrery.member (session, name, addresses, level_max) \
                VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING session";
    let level = new.level_max.cast_signed();
    let session = signed(new.session.get());
    let rows = connection.run(text, &[&session, &new.name, &new.addresses, &level]).await?;
    if !rows.is_empty() {
        return Ok(Registered::Yes);
    }
    let members = members(connection).await?;
    if members.iter().any(|it| it.member.session == new.session) {
        return Ok(Registered::Yes);
    }
    let other = members.into_iter().find(|it| it.member.name == new.name && !it.ended);
    // It has ended in between.
    let gone = || Error::Unavailable("the name was in use just now".into());
    other.map(Registered::NameInUse).ok_or_else(gone)
}

pub(super) async fn beat(connection: &mut Connection, session: SessionId) -> Result<Beat> {
    let text = "
WITH beaten AS (
  UPDATE orrery.member SET beat = beat + 1 WHERE session = $1 AND NOT ended RETURNING beat)
SELECT c.id::text, c.schema, c.level, c.halted, b.beat
FROM orrery.cluster c LEFT JOIN beaten b ON true";
    let rows = connection.run(text, &[&signed(session.get())]).await?;
    let row = rows.first().ok_or_else(no_cluster)?;
    let beat: Option<i64> = row.try_get(4).map_err(unreadable)?;
    Ok(Beat { beat: beat.map(unsigned), cluster: facts_of(row)? })
}

pub(super) async fn end(
    connection: &mut Connection,
    session: SessionId,
    seen: u64,
) -> Result<bool> {
    let text = "UPDATE orrery.member SET ended = true \
                WHERE session = $1 AND beat = $2 AND NOT ended RETURNING session";
    Ok(!connection.run(text, &[&signed(session.get()), &signed(seen)]).await?.is_empty())
}

pub(super) async fn forget(connection: &mut Connection, session: SessionId) -> Result<bool> {
    let text = "DELETE FROM orrery.member WHERE session = $1 AND ended \
                AND NOT EXISTS (SELECT FROM orrery.journal WHERE holder = $1) RETURNING session";
    Ok(!connection.run(text, &[&signed(session.get())]).await?.is_empty())
}

pub(super) async fn members(connection: &mut Connection) -> Result<Vec<Member>> {
    let rows = look(connection.run(MEMBER, &[]).await)?;
    rows.iter().map(member_of).collect::<Result<_, _>>().map_err(unreadable)
}

pub(super) async fn cluster(connection: &mut Connection) -> Result<ClusterFacts> {
    let text = "SELECT id::text, schema, level, halted FROM orrery.cluster";
    let rows = look(connection.run(text, &[]).await)?;
    rows.first().ok_or_else(no_cluster).and_then(facts_of)
}

pub(super) async fn halt(connection: &mut Connection, message: &str) -> Result<()> {
    let text = "UPDATE orrery.cluster SET halted = $1 WHERE halted IS NULL";
    connection.run(text, &[&message]).await?;
    Ok(())
}

pub(super) async fn resume(connection: &mut Connection, message: &str) -> Result<bool> {
    let text = "UPDATE orrery.cluster SET halted = NULL WHERE halted = $1 RETURNING schema";
    Ok(!connection.run(text, &[&message]).await?.is_empty())
}

pub(super) async fn raise_level(connection: &mut Connection, seen: u32, to: u32) -> Result<bool> {
    let text = "UPDATE orrery.cluster SET level = $2 WHERE level = $1 AND level < $2 \
                RETURNING level";
    let parameters = (seen.cast_signed(), to.cast_signed());
    Ok(!connection.run(text, &[&parameters.0, &parameters.1]).await?.is_empty())
}

fn facts_of(row: &Row) -> Result<ClusterFacts> {
    let count = |index| row.try_get::<_, i32>(index).map(i32::cast_unsigned).map_err(unreadable);
    Ok(ClusterFacts {
        id: row.try_get(0).map_err(unreadable)?,
        schema: count(1)?,
        level: count(2)?,
        halted: row.try_get(3).map_err(unreadable)?,
    })
}

fn member_of(row: &Row) -> Result<Member, tokio_postgres::Error> {
    Ok(Member {
        member: NewMember {
            session: SessionId::new(unsigned(row.try_get(0)?)),
            name: row.try_get(1)?,
            addresses: row.try_get(2)?,
            level_max: row.try_get::<_, i32>(3)?.cast_unsigned(),
        },
        beat: unsigned(row.try_get(4)?),
        ended: row.try_get(5)?,
    })
}

fn no_cluster() -> Error {
    Error::Corrupt("the cluster has no row".into())
}
