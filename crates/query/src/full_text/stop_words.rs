//! Words that stand in every text and tell nothing about it.

/// English words of grammar, in order: articles, pronouns, prepositions, conjunctions, auxiliaries and the like.
#[rustfmt::skip]
pub(crate) const ENGLISH: &[&str] = &[
    "a", "about", "above", "across", "after", "again", "against", "all", "almost", "along", "already", "also",
    "although", "always", "am", "among", "an", "and", "another", "any", "anyone", "anything", "are", "around",
    "as", "at", "away", "back", "be", "became", "because", "become", "becomes", "been", "before", "behind",
    "being", "below", "beside", "between", "beyond", "both", "but", "by", "can", "cannot", "could", "did",
    "do", "does", "doing", "done", "down", "during", "each", "either", "else", "enough", "even", "ever",
    "every", "everyone", "everything", "few", "for", "from", "further", "had", "has", "have", "having", "he",
    "hence", "her", "here", "hers", "herself", "him", "himself", "his", "how", "however", "i", "if", "in",
    "indeed", "instead", "into", "is", "it", "its", "itself", "just", "known", "least", "less", "like", "many",
    "may", "me", "might", "mine", "more", "moreover", "most", "mostly", "much", "must", "my", "myself", "near",
    "nearly", "neither", "never", "nevertheless", "next", "no", "nobody", "none", "nor", "not", "nothing",
    "now", "nowhere", "of", "off", "often", "on", "once", "one", "only", "onto", "or", "other", "others",
    "otherwise", "our", "ours", "ourselves", "out", "over", "own", "part", "per", "perhaps", "quite", "rather",
    "really", "same", "seem", "seemed", "seems", "several", "shall", "she", "should", "since", "so", "some",
    "somebody", "someone", "something", "sometimes", "somewhere", "still", "such", "than", "that", "the",
    "their", "theirs", "them", "themselves", "then", "thence", "there", "thereby", "therefore", "these",
    "they", "this", "those", "though", "through", "throughout", "thus", "to", "together", "too", "toward",
    "towards", "under", "unless", "until", "up", "upon", "us", "very", "via", "was", "we", "well", "were",
    "what", "whatever", "when", "whenever", "where", "whereas", "wherever", "whether", "which", "while", "who",
    "whoever", "whole", "whom", "whose", "why", "will", "with", "within", "without", "would", "yet", "you",
    "your", "yours", "yourself", "yourselves",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order_and_there_once() {
        assert!(ENGLISH.is_sorted_by(|one, next| one < next));
    }
}
