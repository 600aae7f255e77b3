//! Properties that patches added. Wire: readers see them behind those of the system, but for the last of these, until the
//! item is written whole again.

use model::{Object, Value};

/// The names of the properties of an item that no patch added.
pub(crate) fn names_written(item: &Value, added: &[u8]) -> Vec<String> {
    let rest = added.strip_prefix(b",").unwrap_or_default();
    let added = model::json::parse(&[b"{", rest, b"}"].concat()).unwrap_or_default();
    let names = item.as_object().into_iter().flat_map(Object::iter).map(|(name, _)| name);
    names.filter(|name| added.get(name).is_none()).map(str::to_owned).collect()
}

/// How many bytes of an item's text are properties at its end that are not among those of before.
pub(crate) fn bytes_added(item: &Value, written: &[String]) -> usize {
    let Some(object) = item.as_object() else { return 0 };
    let members = object.iter().collect::<Vec<_>>();
    let is_added = |(name, _): &&(&str, &Value)| !written.iter().any(|other| other == name);
    let added = members.iter().rev().take_while(is_added);
    // A comma, a colon, and what both stand between.
    added.map(|(name, value)| Value::from(*name).to_text().len() + value.to_text().len() + 2).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_the_properties_of_before_was_added() {
        let parse = |text: &str| model::json::parse(text.as_bytes()).unwrap();
        let before = parse(r#"{"id":"a","n":1,"old":2}"#);
        let written = names_written(&before, br#","old":2"#);
        assert_eq!(written, ["id", "n"]);
        for (after, expected) in [
            (r#"{"id":"a","n":1,"old":2}"#, r#","old":2"#),
            (r#"{"id":"a","n":1}"#, ""),
            (
                r#"{"id":"a","n":[1.10],"old":2,"\"new":{"x":null}}"#,
                r#","old":2,"\"new":{"x":null}"#,
            ),
        ] {
            assert_eq!(bytes_added(&parse(after), &written), expected.len(), "{after}");
        }
    }
}
