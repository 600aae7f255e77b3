//! The languages of texts: how words are stemmed, and which path has which.

use model::{PropertyPath, Value};
use rust_stemmers::{Algorithm, Stemmer};

use crate::full_text::stop_words;

/// A language of full-text search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// `en-US`.
    #[default]
    English,
    /// `de-DE`.
    German,
    /// `es-ES`.
    Spanish,
    /// `fr-FR`.
    French,
    /// `it-IT`.
    Italian,
    /// `pt-BR` and `pt-PT`, which have one stemmer.
    Portuguese,
}

/// Each language with the names that policies give it, and its name in indexes, which never changes.
#[rustfmt::skip]
const LANGUAGES: [(Language, &[&str], &str); 6] = [
    (Language::English,    &["en-US"],          "english"),
    (Language::German,     &["de-DE"],          "german"),
    (Language::Spanish,    &["es-ES"],          "spanish"),
    (Language::French,     &["fr-FR"],          "french"),
    (Language::Italian,    &["it-IT"],          "italian"),
    (Language::Portuguese, &["pt-BR", "pt-PT"], "portuguese"),
];

impl Language {
    /// Reads the name of a language in a policy, such as `de-DE`.
    pub fn from_tag(tag: &str) -> Option<Language> {
        let found = LANGUAGES.iter().find(|(_, tags, _)| tags.contains(&tag));
        found.map(|(language, ..)| *language)
    }

    /// Reads what [`Language::name`] returned.
    pub(crate) fn from_name(name: &str) -> Option<Language> {
        LANGUAGES.iter().find(|(.., own)| *own == name).map(|(language, ..)| *language)
    }

    /// Returns the name of the language in the names of indexes.
    pub(crate) fn name(self) -> &'static str {
        LANGUAGES.iter().find(|(own, ..)| *own == self).map_or("english", |(.., name)| name)
    }

    fn stemmer(self) -> Stemmer {
        Stemmer::create(match self {
            Language::English => Algorithm::English,
            Language::German => Algorithm::German,
            Language::Spanish => Algorithm::Spanish,
            Language::French => Algorithm::French,
            Language::Italian => Algorithm::Italian,
            Language::Portuguese => Algorithm::Portuguese,
        })
    }

    /// Splits a text into stemmed words: runs of letters and digits, in lower case.
    pub(crate) fn words(self, text: &str) -> Vec<String> {
        let stemmer = self.stemmer();
        runs(text).map(|word| stemmer.stem(&word.to_lowercase()).into_owned()).collect()
    }

    /// How long a text is when its score is discounted for length: words that every text has do not count.
    pub(crate) fn length(self, text: &str) -> usize {
        runs(text).filter(|word| !self.is_common(word)).count()
    }

    fn is_common(self, word: &str) -> bool {
        match self {
            Language::English => {
                let lower = || word.bytes().map(|byte| byte.to_ascii_lowercase());
                stop_words::ENGLISH.binary_search_by(|own| own.bytes().cmp(lower())).is_ok()
            }
            Language::German
            | Language::Spanish
            | Language::French
            | Language::Italian
            | Language::Portuguese => false,
        }
    }
}

fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The full-text policy of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FullTextPolicy {
    default: Language,
    paths: Vec<(Vec<String>, Language)>,
}

impl FullTextPolicy {
    /// Reads the full-text policy object of a container; what it cannot read is left out.
    pub fn from_policy(policy: &Value) -> FullTextPolicy {
        let language =
            |entry: &Value, name| Language::from_tag(entry.get(name).and_then(Value::as_str)?);
        let default = language(policy, "defaultLanguage").unwrap_or_default();
        let list = policy.get("fullTextPaths").and_then(Value::as_array).unwrap_or_default();
        let paths = list.iter().filter_map(|entry| {
            let path = PropertyPath::parse(entry.get("path")?.as_str()?).ok()?;
            Some((path.segments().to_vec(), language(entry, "language").unwrap_or(default)))
        });
        FullTextPolicy { default, paths: paths.collect() }
    }

    /// Returns the language of the texts at a path, given as names; the default one if the policy does not name it.
    pub(crate) fn language(&self, path: Option<&[String]>) -> Language {
        let found = self.paths.iter().find(|(own, _)| Some(&**own) == path);
        found.map_or(self.default, |(_, language)| *language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        for (language, tags, name) in LANGUAGES {
            assert_eq!(language.name(), name);
            assert_eq!(Language::from_name(name), Some(language));
            assert!(tags.iter().all(|tag| Language::from_tag(tag) == Some(language)));
        }
        assert_eq!(Language::from_tag("nl-NL"), None);
    }

    #[test]
    fn words_of_a_language_share_a_stem() {
        #[rustfmt::skip]
        let table = [
            (Language::English,    "running",       "runs"),
            (Language::German,     "Häuser",        "Hauses"),
            (Language::Spanish,    "corriendo",     "correr"),
            (Language::French,     "chantaient",    "chanter"),
            (Language::Italian,    "mangiare",      "mangiato"),
            (Language::Portuguese, "cantando",      "cantar"),
        ];
        for (language, one, other) in table {
            assert_eq!(language.words(one), language.words(other), "{language:?}");
        }
        assert_ne!(Language::English.words("Häuser"), Language::English.words("Hauses"));
    }

    #[test]
    fn words_of_grammar_do_not_lengthen_a_text() {
        assert_eq!(Language::English.length("The river IS in the north, and it's long."), 4);
        assert_eq!(Language::German.length("the river"), 2);
        assert_eq!(Language::English.length(""), 0);
    }

    #[test]
    fn a_path_has_its_own_language_or_the_default_one() {
        let policy = r#"{"defaultLanguage":"de-DE",
            "fullTextPaths":[{"path":"/a/b","language":"fr-FR"},{"path":"/c"}]}"#;
        let policy = FullTextPolicy::from_policy(&model::json::parse(policy.as_bytes()).unwrap());
        let language = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|name| (*name).to_string()).collect();
            policy.language(Some(&path))
        };
        assert_eq!(language(&["a", "b"]), Language::French);
        assert_eq!(language(&["c"]), Language::German);
        assert_eq!(language(&["other"]), Language::German);
        assert_eq!(FullTextPolicy::default().language(None), Language::English);
    }
}
