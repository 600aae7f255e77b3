//! Session tokens: with them a read sees the writes of this process, whatever replica answers.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

// Limit: tokens are kept for each range of each container; beyond this the oldest knowledge is given up.
const CONTAINERS_MAX: usize = 10_000;

/// The latest token of each range, by container.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: Mutex<HashMap<String, BTreeMap<String, String>>>,
}

impl Sessions {
    /// Keeps what an answer says: `0:-1#5`, or several with commas.
    pub(super) fn remember(&self, container: &str, token: &str) {
        let mut all = self.all.lock();
        if all.len() >= CONTAINERS_MAX && !all.contains_key(container) {
            all.clear();
        }
        let ranges = all.entry(container.to_owned()).or_default();
        for (range, value) in token.split(',').filter_map(|it| it.trim().split_once(':')) {
            let known = ranges.entry(range.to_owned()).or_default();
            // Answers overtake each other: a token never goes back.
            if lsn(value) >= lsn(known) {
                value.clone_into(known);
            }
        }
    }

    /// Returns the token to send.
    pub(super) fn token(&self, container: &str) -> Option<String> {
        let all = self.all.lock();
        let ranges: Vec<String> =
            all.get(container)?.iter().map(|(range, token)| format!("{range}:{token}")).collect();
        (!ranges.is_empty()).then(|| ranges.join(","))
    }

    /// Forgets a container that is gone.
    pub(super) fn forget(&self, container: &str) {
        self.all.lock().remove(container);
    }
}

/// The position in `-1#5` or `1#5#3=7`: the second part, or the only one of the oldest form.
fn lsn(token: &str) -> i64 {
    let mut parts = token.split('#');
    let first = parts.next().unwrap_or_default();
    parts.next().unwrap_or(first).parse().unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_goes_back() {
        let sessions = Sessions::default();
        assert_eq!(sessions.token("c"), None);
        sessions.remember("c", "0:-1#5,1:1#7#3=2");
        sessions.remember("c", "0:-1#4");
        sessions.remember("c", "1:1#8#3=2");
        assert_eq!(sessions.token("c").as_deref(), Some("0:-1#5,1:1#8#3=2"));
        sessions.forget("c");
        assert_eq!(sessions.token("c"), None);
    }
}
