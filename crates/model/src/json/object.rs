//! A JSON object that keeps the order of its properties.

use super::Value;

/// An object: properties in the order they were written. Invariant: no name twice.
///
/// A vector and not a map, because items have few properties, order must survive, and `SELECT *`
/// walks them all. Equality does not look at the order.
#[derive(Debug, Clone, Default)]
pub struct Object(Vec<(String, Value)>);

impl Object {
    /// Returns an object without properties.
    pub const fn new() -> Object {
        Object(Vec::new())
    }

    /// Returns an object with room for `n_properties`.
    pub fn with_capacity(n_properties: usize) -> Object {
        Object(Vec::with_capacity(n_properties))
    }

    /// Returns the value of a property.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Returns the value of a property, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Says whether there is a property with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a property: in its place if it exists (returning the old value), else at the end.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        if let Some(present) = self.get_mut(&name) {
            return Some(std::mem::replace(present, value));
        }
        self.0.push((name, value));
        None
    }

    /// Takes a property out; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let index = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.remove(index).1)
    }

    /// Keeps the properties for which `keep` says yes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }

    /// Returns the properties in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> + DoubleEndedIterator {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the properties in order, values to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the number of properties.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Says whether there are no properties.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a property at the end. The caller knows that the name is new.
    pub(super) fn push_new(&mut self, name: String, value: Value) {
        self.0.push((name, value));
    }

    /// Returns the properties ordered by name.
    pub(super) fn sorted(&self) -> Vec<(&str, &Value)> {
        let mut properties: Vec<(&str, &Value)> = self.iter().collect();
        properties.sort_unstable_by_key(|(name, _)| *name);
        properties
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let has_same_order = self.iter().zip(other.iter()).all(|((one, _), (two, _))| one == two);
        if has_same_order { self.0 == other.0 } else { self.sorted() == other.sorted() }
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Object {
    /// Of several properties with one name the first gives the place and the last the value.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(properties: I) -> Object {
        let properties = properties.into_iter().map(|(name, value)| (name.into(), value.into()));
        without_duplicates(properties.collect())
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Object {
    fn from(properties: [(K, V); N]) -> Object {
        properties.into_iter().collect()
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Enforces the invariant by sorting, since comparing all pairs of a large object takes minutes.
fn without_duplicates(properties: Vec<(String, Value)>) -> Object {
    let mut by_name: Vec<usize> = (0..properties.len()).collect();
    by_name.sort_by(|&one, &two| properties[one].0.cmp(&properties[two].0));
    let mut places: Vec<usize> = (0..properties.len()).collect();
    let mut has_duplicates = false;
    for (&before, &after) in by_name.iter().zip(by_name.iter().skip(1)) {
        if properties[before].0 == properties[after].0 {
            places[after] = places[before];
            has_duplicates = true;
        }
    }
    if !has_duplicates {
        return Object(properties);
    }
    let mut kept: Vec<Option<(String, Value)>> = vec![None; properties.len()];
    for (property, place) in properties.into_iter().zip(places) {
        kept[place] = Some(property);
    }
    Object(kept.into_iter().flatten().collect())
}

/// Builds a [`Value::Object`]: `object! { "id" => "a", "n" => 1 }`.
#[macro_export]
macro_rules! object {
    ($($name:expr => $value:expr),* $(,)?) => {
        $crate::Value::Object($crate::Object::from_iter([
            $(($name, $crate::Value::from($value)),)*
        ] as [(&str, $crate::Value); _]))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_replaces_in_place_and_appends_otherwise() {
        let mut object = Object::from([("a", 1), ("b", 2)]);
        assert_eq!(object.insert("a", "x"), Some(Value::from(1)));
        assert_eq!(object.insert("c", 3), None);
        let names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(object.remove("a"), Some(Value::from("x")));
        assert_eq!(object.remove("a"), None);
        assert_eq!(object.len(), 2);
    }

    #[test]
    fn collecting_keeps_the_first_place_and_the_last_value() {
        let object = Object::from([("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)]);
        assert_eq!(Value::Object(object).to_text(), r#"{"a":5,"b":2,"c":4}"#);
    }

    #[test]
    fn collecting_a_large_object_is_quick() {
        let object: Object = (0..200_000).map(|n| (format!("{}", n % 150_000), n)).collect();
        assert_eq!(object.len(), 150_000);
        assert_eq!(object.get("0"), Some(&Value::from(150_000)));
    }

    #[test]
    fn the_macro_builds_an_object() {
        let value = object! { "id" => "a", "n" => 1, "deep" => object! { "x" => true } };
        assert_eq!(value.to_text(), r#"{"id":"a","n":1,"deep":{"x":true}}"#);
        assert_eq!(object! {}.to_text(), "{}");
    }
}
