//! What follows the question mark of a management call.

use percent_encoding::percent_decode_str;

use super::invalid;
use crate::error::Error;

/// Names and values, decoded.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query string that may have only these names: a misspelt one would be ignored and something else answered.
    pub(super) fn parse(query: Option<&str>, names: &[&str]) -> Result<Parameters, Error> {
        let Some(query) = query else { return Ok(Parameters::default()) };
        if names.is_empty() {
            return Err(Error::QueryStringUnexpected);
        }
        let mut found = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8().map_err(|_| Error::UrlInvalid)?;
            if !names.contains(&name) {
                return Err(invalid(&format!("unknown parameter '{name}'")));
            }
            found.push((name.to_owned(), value.into_owned()));
        }
        Ok(Parameters(found))
    }

    /// The last of that name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// A number of seconds since 1970.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<u64>, Error> {
        let parse = |text: &str| {
            text.parse().map_err(|_| invalid(&format!("{name} must be seconds since 1970")))
        };
        self.get(name).map(parse).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_taken() {
        let names = &["a", "b"];
        let parsed = Parameters::parse(Some("a=1&b=%5B%22x+y%22%5D"), names).unwrap();
        assert_eq!((parsed.get("a"), parsed.get("b")), (Some("1"), Some("[\"x y\"]")));
        assert!(Parameters::parse(Some("c=1"), names).is_err());
        assert!(Parameters::parse(Some("a=%FF"), names).is_err());
        assert!(Parameters::parse(Some("a=1"), &[]).is_err());
        assert!(Parameters::parse(None, &[]).is_ok());
    }
}
