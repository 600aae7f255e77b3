//! The catalog's head: counters that only grow, and the account's secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Env, Value, json};

use super::record::{number_value, read_number};
use crate::body;
use crate::error::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) next_number: u64,
    /// Incarnation 0 is the catalog itself.
    pub(crate) next_incarnation: u64,
    /// Key of resource tokens and continuations.
    pub(crate) secret: [u8; 32],
}

impl Head {
    pub(crate) fn new(env: &Env) -> Head {
        let mut secret = [0; 32];
        env.fill_random(&mut secret);
        Head { next_number: 1, next_incarnation: 1, secret }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let value = Value::Object(body::object([
            ("version", Value::from(1)),
            ("nextNumber", number_value(self.next_number)),
            ("nextIncarnation", number_value(self.next_incarnation)),
            ("secret", STANDARD.encode(self.secret).into()),
        ]));
        let mut bytes = Vec::new();
        value.write_to(&mut bytes);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Head> {
        let corrupt = |what: &str| Error::CatalogCorrupt(format!("head: {what}"));
        let value = json::parse(bytes).map_err(|error| corrupt(&error.to_string()))?;
        let number = |name| value.get(name).and_then(read_number).ok_or_else(|| corrupt(name));
        if number("version")? != 1 {
            return Err(corrupt("unknown version"));
        }
        let secret = value.get("secret").and_then(Value::as_str).unwrap_or_default();
        let secret = STANDARD.decode(secret).ok().and_then(|bytes| bytes.try_into().ok());
        Ok(Head {
            next_number: number("nextNumber")?,
            next_incarnation: number("nextIncarnation")?,
            secret: secret.ok_or_else(|| corrupt("secret"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_survives_the_store() {
        let head = Head { next_number: 9, ..Head::new(&Env::fixed(1, 0)) };
        assert_eq!(Head::decode(&head.encode()).unwrap(), head);
        assert!(Head::decode(b"{}").is_err());
    }
}
