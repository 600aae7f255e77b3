//! Names of properties that the items of a container share, and how each reads in JSON.
//!
//! An engine forgets a name with the last object that has it, and to ask it for the text of one takes longer than to
//! write a short value. What is kept here is the same for every run: no script can tell a name that is kept from one
//! that is not.

use std::cell::RefCell;
use std::hash::{Hash as _, Hasher};

use model::json::{SYSTEM_PROPERTIES, write_string};
use rquickjs::{Atom, Ctx, Persistent, Result};

// Limit: names that an engine keeps, and how long each may be as it reads in JSON. They count for the memory of every
// run in the engine.
const NAMES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 64;

/// Every name has one place; whoever comes last has it.
#[derive(Default)]
pub(crate) struct Names(RefCell<Vec<Option<Name>>>);

struct Name {
    /// Which no other name can have, as long as this one is kept.
    number: u64,
    _kept: Persistent<Atom<'static>>,
    /// With its quotes and the colon.
    text: Box<[u8]>,
    is_system: bool,
}

/// How a name was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Plainly,
    /// The server gives an item the properties with such names, and drops what it is given under them.
    System,
    /// Not at all: it has half a character.
    Not,
}

impl Named {
    fn of(is_system: bool) -> Named {
        if is_system { Named::System } else { Named::Plainly }
    }
}

impl Names {
    /// Writes a name and its colon.
    pub(crate) fn write<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &Atom<'js>,
        target: &mut Vec<u8>,
    ) -> Result<Named> {
        let number = number_of(name);
        let place = usize::try_from(number).unwrap_or_default() % NAMES_MAX;
        let mut names = self.0.borrow_mut();
        if let Some(Some(known)) = names.get(place)
            && known.number == number
        {
            target.extend_from_slice(&known.text);
            return Ok(Named::of(known.is_system));
        }
        let start = target.len();
        // Not the atom's own way to a string: that ends at a zero.
        let Ok(text) = name.to_js_string()?.to_string() else { return Ok(Named::Not) };
        write_string(&text, target);
        target.push(b':');
        let is_system = SYSTEM_PROPERTIES.contains(&&*text);
        let text = &target[start..];
        if text.len() <= NAME_BYTES_MAX {
            names.resize_with(NAMES_MAX, || None);
            let kept = Persistent::save(ctx, name.clone());
            names[place] = Some(Name { number, _kept: kept, text: text.into(), is_system });
        }
        Ok(Named::of(is_system))
    }

    /// Lets go of every value of the engine.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

/// What the engine calls the name.
fn number_of(name: &Atom<'_>) -> u64 {
    struct Number(u64);
    impl Hasher for Number {
        fn write(&mut self, _: &[u8]) {}

        fn write_u32(&mut self, number: u32) {
            self.0 = u64::from(number);
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }
    let mut number = Number(0);
    name.hash(&mut number);
    number.finish()
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Object, Runtime};

    use super::*;

    #[test]
    fn names_are_told_apart_however_many_there_were() {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let names = Names::default();
            for round in 0..3 {
                for n in 0..2 * NAMES_MAX {
                    // The engine gives the numbers of names that it forgot to others.
                    let length = n % (2 * NAME_BYTES_MAX);
                    let name = format!("{}\"{n} {round}", "x".repeat(length));
                    let object = Object::new(ctx.clone()).unwrap();
                    object.set(&*name, 1).unwrap();
                    let mut text = Vec::new();
                    for atom in object.keys::<Atom<'_>>() {
                        let how = names.write(&ctx, &atom.unwrap(), &mut text).unwrap();
                        assert_eq!(how, Named::Plainly);
                    }
                    let mut expected = Vec::new();
                    write_string(&name, &mut expected);
                    expected.push(b':');
                    assert_eq!(text, expected);
                }
            }
        });
    }

    #[test]
    fn a_name_with_half_a_character_is_not_written() {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let object: Object<'_> = ctx.eval(r#"({"\ud800": 1})"#).unwrap();
            let name = object.keys::<Atom<'_>>().next().unwrap().unwrap();
            let mut text = Vec::new();
            assert_eq!(Names::default().write(&ctx, &name, &mut text).unwrap(), Named::Not);
            assert!(text.is_empty());
        });
    }
}
