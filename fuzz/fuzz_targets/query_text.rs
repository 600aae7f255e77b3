//! Query texts: the parser, and that what it prints means the same to it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(tree) = query::parse(text) else { return };
    let printed = query::canonical_text(&tree);
    // Printing adds parentheses, so a text near a limit can become too long or too deep.
    if let Ok(again) = query::parse(&printed) {
        assert_eq!(query::canonical_text(&again), printed, "{text}");
    }
});
