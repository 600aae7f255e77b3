//! Permissions and the tokens minted from them.
//!
//! Wire: The token text is `type=resource&ver=1.0&sig=<sealed grant>;`; a fresh one is
//! minted on every read and dies with the permission.

use model::{Env, Object, PartitionKey, Rid, Value, json};

use super::record::{Record, number_value, read_number};
use super::tables::Tables;
use crate::access::target_of;
use crate::body;
use crate::error::{Error, Result};
use crate::grant::{Grant, GrantMode};
use crate::operation::ResourceKind;
use crate::policy_error::PolicyError;
use crate::seal::{Purpose, Sealer};

/// Limit: the service's lifetimes of a token.
pub(crate) const TOKEN_SECONDS_DEFAULT: u32 = 3600;
const TOKEN_SECONDS_MIN: u32 = 10;
const TOKEN_SECONDS_MAX: u32 = 86_400;

const PREFIX: &str = "type=resource&ver=1.0&sig=";
const MODES: [&str; 2] = ["Read", "All"];

pub(crate) fn complete(permission: &Object) -> Result<Object> {
    let mode = body::required_text(permission, "permissionMode")?;
    let unknown =
        || PolicyError::UnknownValue { property: "permissionMode", value: mode.to_owned() };
    // Wire: shown as it was written; SDKs disagree about its case.
    body::spelled(mode, &MODES).ok_or_else(unknown)?;
    let resource = body::required_text(permission, "resource")?;
    // Wire: the target need not exist; SDK tests grant on made-up rids.
    if super::link::parse_link(resource).is_none() {
        return Err(Error::PropertyInvalid { property: "resource".into() });
    }
    let mut completed =
        body::object([("permissionMode", mode.into()), ("resource", resource.into())]);
    if let Some(key) = body::present(permission, "resourcePartitionKey") {
        PartitionKey::from_value(key)?;
        completed.insert("resourcePartitionKey", key.clone());
    }
    Ok(completed)
}

/// Wire: one permission per user, resource and partition key.
pub(crate) fn check_single(
    tables: &Tables,
    user: u64,
    except: Option<u64>,
    body: &Object,
) -> Result<()> {
    let scope = |body: &Object| {
        let resource = body.get("resource").and_then(Value::as_str).unwrap_or_default();
        (resource.trim_matches('/').to_owned(), body.get("resourcePartitionKey").cloned())
    };
    let wanted = scope(body);
    let is_taken = tables
        .children(user, ResourceKind::Permission, 0)
        .any(|other| Some(other.number) != except && scope(&other.body) == wanted);
    if is_taken { Err(Error::AlreadyExists) } else { Ok(()) }
}

/// The lifetime that a request asks for.
pub(crate) fn lifetime(seconds: Option<u32>) -> Result<u32> {
    let seconds = seconds.unwrap_or(TOKEN_SECONDS_DEFAULT);
    let (min, max) = (TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX);
    if (min..=max).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(Error::TokenLifetime { seconds, min, max })
    }
}

/// Mints a token for a permission.
pub(crate) fn mint(tables: &Tables, env: &Env, permission: &Record, seconds: u32) -> String {
    let sealer = Sealer::new(tables.head.secret);
    let mut grant = body::object([
        ("p", permission.rid.to_string().into()),
        ("e", number_value(env.now_seconds() + u64::from(seconds))),
        // Two tokens of one second differ.
        ("n", number_value(env.random_u64() >> 32)),
    ]);
    for (short, name) in [("r", "resource"), ("k", "resourcePartitionKey")] {
        if let Some(value) = permission.body.get(name) {
            grant.insert(short, value.clone());
        }
    }
    if let Some(mode) = mode_of(permission) {
        grant.insert("m", mode);
    }
    let resource = permission.body.get("resource").and_then(Value::as_str);
    if let Some(target) = resource.and_then(|resource| target_of(tables, resource)) {
        grant.insert("t", number_value(target));
    }
    let text = sealer.seal(Purpose::Token, Value::Object(grant).to_text().as_bytes());
    format!("{PREFIX}{text};")
}

/// Opens a token: the seal must be ours, the time not over, the permission still there.
pub(crate) fn open(sealer: &Sealer, env: &Env, tables: &Tables, token: &str) -> Result<Grant> {
    let text = token.strip_prefix(PREFIX).unwrap_or(token).trim_end_matches(';');
    let bytes = sealer.open(Purpose::Token, text).ok_or(Error::TokenInvalid)?;
    let grant = read_grant(&bytes).ok_or(Error::TokenInvalid)?;
    let now_seconds = env.now_seconds();
    if grant.expires_seconds <= now_seconds {
        let expired_seconds = grant.expires_seconds;
        return Err(Error::TokenExpired { expired_seconds, now_seconds });
    }
    match tables.by_rid(&grant.permission) {
        Some(permission) if is_granted(permission, &grant) => Ok(grant),
        Some(_) | None => Err(Error::Forbidden),
    }
}

/// A permission that was changed since no longer grants what it did.
fn is_granted(permission: &Record, grant: &Grant) -> bool {
    let text = |name| permission.body.get(name).and_then(Value::as_str);
    let mode = match grant.mode {
        GrantMode::Read => "Read",
        GrantMode::All => "All",
    };
    let key = permission.body.get("resourcePartitionKey");
    let key = key.and_then(|key| PartitionKey::from_value(key).ok());
    let resource = text("resource");
    mode_of(permission) == Some(mode) && resource == Some(&grant.resource) && key == grant.key
}

/// What a permission allows, in our spelling.
fn mode_of(permission: &Record) -> Option<&'static str> {
    body::spelled(permission.body.get("permissionMode")?.as_str()?, &MODES)
}

fn read_grant(bytes: &[u8]) -> Option<Grant> {
    let value = json::parse(bytes).ok()?;
    let mode = match value.get("m")?.as_str()? {
        "Read" => GrantMode::Read,
        "All" => GrantMode::All,
        _ => return None,
    };
    let key = match value.get("k") {
        Some(key) => Some(PartitionKey::from_value(key).ok()?),
        None => None,
    };
    Some(Grant {
        permission: Rid::parse(value.get("p")?.as_str()?)?,
        resource: value.get("r")?.as_str()?.to_owned(),
        target: value.get("t").and_then(read_number),
        mode,
        key,
        expires_seconds: value.get("e").and_then(read_number)?,
    })
}
