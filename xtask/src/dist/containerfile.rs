//! The `Containerfile`, read as a builder reads it: no container engine is needed to know that it fits the package.

use super::package::IMAGE_FILES;
use crate::workspace;

/// One instruction and the words behind it.
struct Instruction {
    name: String,
    rest: String,
}

fn parse(text: &str) -> Vec<Instruction> {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let instruction = |line: &str| {
        assert!(!line.ends_with('\\'), "continued lines are not read: {line}");
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        Instruction { name: name.to_owned(), rest: rest.trim().to_owned() }
    };
    lines.map(instruction).collect()
}

fn read() -> Vec<Instruction> {
    parse(&std::fs::read_to_string(workspace::root().join("Containerfile")).unwrap())
}

fn rests<'a>(instructions: &'a [Instruction], name: &str) -> Vec<&'a str> {
    instructions.iter().filter(|it| it.name == name).map(|it| it.rest.as_str()).collect()
}

#[test]
fn every_instruction_is_known_and_in_order() {
    let names: Vec<String> = read().into_iter().map(|it| it.name).collect();
    let expected = ["ARG", "FROM", "COPY", "ENV", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT"];
    assert_eq!(names, expected);
}

#[test]
fn it_copies_what_the_package_has_to_where_it_starts_it() {
    let all = read();
    let copies = rests(&all, "COPY");
    let words: Vec<&str> = copies[0].split(' ').collect();
    assert_eq!(words[..words.len() - 1], IMAGE_FILES);
    let entry: Vec<String> = serde_json::from_str(rests(&all, "ENTRYPOINT")[0]).unwrap();
    // The JSON form, and no shell: arguments reach the server, and so do signals.
    assert_eq!(entry, [*words.last().unwrap()]);
}

#[test]
fn its_ports_and_variables_are_those_of_the_server() {
    let all = read();
    assert_eq!(rests(&all, "EXPOSE"), ["8081 8080 1234"]);
    let source = workspace::root().join("crates/orrery/src/emulator/arguments.rs");
    let source = std::fs::read_to_string(source).unwrap();
    for setting in rests(&all, "ENV") {
        let (name, value) = setting.split_once('=').unwrap();
        assert!(source.contains(&format!("\"{name}\"")), "{name}");
        assert_eq!(value, "true");
    }
    // A volume in the image would be mounted always, and a mounted volume means that data is kept.
    assert!(rests(&all, "VOLUME").is_empty());
}
