//! Sets of values.

use std::cmp::Ordering;

use model::Value;

/// Limit: single values that are kept apart.
const SINGLE_MAX: usize = 64;

/// Kinds of values, as bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Kinds = Kinds(0);
    pub(super) const UNDEFINED: Kinds = Kinds(1);
    pub(super) const NULL: Kinds = Kinds(1 << 1);
    pub(super) const FALSE: Kinds = Kinds(1 << 2);
    pub(super) const TRUE: Kinds = Kinds(1 << 3);
    pub(super) const NUMBER: Kinds = Kinds(1 << 4);
    pub(super) const TEXT: Kinds = Kinds(1 << 5);
    pub(super) const ARRAY: Kinds = Kinds(1 << 6);
    pub(super) const OBJECT: Kinds = Kinds(1 << 7);
    pub(super) const BOOL: Kinds = Kinds::FALSE.or(Kinds::TRUE);
    pub(super) const ANY: Kinds = Kinds(u8::MAX);
    pub(super) const DEFINED: Kinds = Kinds(u8::MAX - 1);

    pub(super) const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub(super) const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    pub(super) const fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn when(self, holds: bool) -> Kinds {
        if holds { self } else { Kinds::NONE }
    }

    pub(super) fn of(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::NULL,
            Value::Bool(false) => Kinds::FALSE,
            Value::Bool(true) => Kinds::TRUE,
            Value::Number(_) => Kinds::NUMBER,
            Value::String(_) => Kinds::TEXT,
            Value::Array(_) => Kinds::ARRAY,
            Value::Object(_) => Kinds::OBJECT,
        }
    }
}

/// One end of an interval: a number or a text, and whether it belongs to the interval.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) value: Value,
    pub(super) inclusive: bool,
}

/// A superset of the values that something can have.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) kinds: Kinds,
    /// Numbers below and texts below these are not among them. Each bounds its own kind.
    lows: Vec<Bound>,
    highs: Vec<Bound>,
    /// All of the values, if they are few.
    single: Option<Vec<Value>>,
}

impl Values {
    pub(super) fn of(kinds: Kinds) -> Values {
        Values { kinds, lows: Vec::new(), highs: Vec::new(), single: None }
    }

    pub(super) fn one(value: &Value) -> Values {
        Values::list(std::slice::from_ref(value))
    }

    /// Exactly these values.
    pub(super) fn list(list: &[Value]) -> Values {
        let kinds = list.iter().fold(Kinds::NONE, |kinds, value| kinds.or(Kinds::of(value)));
        let single = (list.len() <= SINGLE_MAX).then(|| list.to_vec());
        Values { kinds, lows: Vec::new(), highs: Vec::new(), single }
    }

    /// All values of one kind on one side of a bound.
    pub(super) fn beyond(bound: Bound, is_low: bool) -> Values {
        let mut values = Values::of(Kinds::of(&bound.value));
        if let Value::Bool(limit) = bound.value {
            let is_in = |value: bool| {
                let order = if is_low { value.cmp(&limit) } else { limit.cmp(&value) };
                order == Ordering::Greater || (bound.inclusive && order == Ordering::Equal)
            };
            values.kinds = Kinds::FALSE.when(is_in(false)).or(Kinds::TRUE.when(is_in(true)));
        } else if bound.value == Value::Null {
            values.kinds = Kinds::NULL.when(bound.inclusive);
        } else if is_low {
            values.lows.push(bound);
        } else {
            values.highs.push(bound);
        }
        values
    }

    pub(super) fn is_none(&self) -> bool {
        self.kinds == Kinds::NONE
    }

    /// Returns the only value there can be.
    pub(super) fn only(&self) -> Option<&Value> {
        match self.single.as_deref() {
            Some([value]) if !self.kinds.has(Kinds::UNDEFINED) => Some(value),
            _ => None,
        }
    }

    /// Returns all values, if they are few and undefined is not among them.
    pub(super) fn few(&self) -> Option<Vec<Value>> {
        if self.kinds.has(Kinds::UNDEFINED) {
            return None;
        }
        if self.single.is_some() {
            return self.single.clone();
        }
        let kinds = [
            (Kinds::NULL, Value::Null),
            (Kinds::FALSE, Value::Bool(false)),
            (Kinds::TRUE, Value::Bool(true)),
        ];
        let rest = self.kinds.without(Kinds::NULL).without(Kinds::BOOL);
        let values = kinds.into_iter().filter(|(kind, _)| self.kinds.has(*kind));
        (rest == Kinds::NONE).then(|| values.map(|(_, value)| value).collect())
    }

    /// Keeps what is in both.
    pub(super) fn and(&self, other: &Values) -> Values {
        let mut both = Values {
            kinds: self.kinds.and(other.kinds),
            lows: [self.lows.as_slice(), &other.lows].concat(),
            highs: [self.highs.as_slice(), &other.highs].concat(),
            single: match (&self.single, &other.single) {
                (Some(own), Some(other)) => {
                    Some(own.iter().filter(|value| other.contains(value)).cloned().collect())
                }
                (single, None) | (None, single) => single.clone(),
            },
        };
        both.tidy();
        both
    }

    /// Joins both, and forgets what is special about either.
    pub(super) fn or(&self, other: &Values) -> Values {
        if other.is_none() {
            return self.clone();
        }
        if self.is_none() {
            return other.clone();
        }
        let mut any = Values::of(self.kinds.or(other.kinds));
        if let (Some(own), Some(other)) = (&self.single, &other.single)
            && own.len() + other.len() <= SINGLE_MAX
        {
            any.single = Some([own.as_slice(), other].concat());
        }
        any
    }

    pub(super) fn and_kinds(&self, kinds: Kinds) -> Values {
        self.and(&Values::of(kinds))
    }

    pub(super) fn or_kinds(mut self, kinds: Kinds) -> Values {
        self.kinds = self.kinds.or(kinds);
        self
    }

    /// Takes single values out.
    pub(super) fn without(&self, list: &[Value]) -> Values {
        let mut rest = self.clone();
        if let Some(single) = &mut rest.single {
            single.retain(|value| !list.contains(value));
        } else {
            for value in list {
                // Of these kinds there is one value each.
                if matches!(value, Value::Null | Value::Bool(_)) {
                    rest.kinds = rest.kinds.without(Kinds::of(value));
                }
            }
        }
        rest.tidy();
        rest
    }

    /// Leaves out the kinds of which nothing is left.
    fn tidy(&mut self) {
        if let Some(single) = &mut self.single {
            let kinds = self.kinds;
            let (lows, highs) = (&self.lows, &self.highs);
            single.retain(|value| {
                kinds.has(Kinds::of(value))
                    && lows.iter().all(|bound| is_within(value, bound, Ordering::Less))
                    && highs.iter().all(|bound| is_within(value, bound, Ordering::Greater))
            });
            let left = single.iter().fold(Kinds::NONE, |left, value| left.or(Kinds::of(value)));
            self.kinds = self.kinds.and(left.or(Kinds::UNDEFINED));
            return;
        }
        for low in &self.lows {
            for high in &self.highs {
                let kind = Kinds::of(&low.value);
                if kind == Kinds::of(&high.value) {
                    let order = model::order(Some(&low.value), Some(&high.value));
                    let is_empty = order == Ordering::Greater
                        || (order == Ordering::Equal && !(low.inclusive && high.inclusive));
                    self.kinds = self.kinds.without(kind.when(is_empty));
                }
            }
        }
    }

    /// Returns whether a value of one set can be less than one of the other, or equal if asked for.
    pub(super) fn can_be_less(&self, other: &Values, or_equal: bool) -> bool {
        let both = self.kinds.and(other.kinds);
        let (own, others) = (self.kinds, other.kinds);
        (or_equal && both.has(Kinds::BOOL.or(Kinds::NULL)))
            || (own.has(Kinds::FALSE) && others.has(Kinds::TRUE))
            || [Kinds::NUMBER, Kinds::TEXT].into_iter().any(|kind| {
                both.has(kind) && {
                    let lows = self.least(kind);
                    let highs = other.greatest(kind);
                    lows.iter().all(|low| {
                        highs.iter().all(|high| {
                            let order = model::order(Some(&low.value), Some(&high.value));
                            order == Ordering::Less
                                || (order == Ordering::Equal
                                    && or_equal
                                    && low.inclusive
                                    && high.inclusive)
                        })
                    })
                }
            })
    }

    /// Returns what no value of a kind is below; of single values the least.
    fn least(&self, kind: Kinds) -> Vec<Bound> {
        self.ends(kind, &self.lows, |values| {
            values.min_by(|left, right| model::order(Some(left), Some(right)))
        })
    }

    fn greatest(&self, kind: Kinds) -> Vec<Bound> {
        self.ends(kind, &self.highs, |values| {
            values.max_by(|left, right| model::order(Some(left), Some(right)))
        })
    }

    fn ends<'v>(
        &'v self,
        kind: Kinds,
        bounds: &[Bound],
        pick: impl FnOnce(&mut dyn Iterator<Item = &'v Value>) -> Option<&'v Value>,
    ) -> Vec<Bound> {
        match &self.single {
            Some(single) => {
                let value = pick(&mut single.iter().filter(|value| Kinds::of(value) == kind));
                value
                    .map(|value| Bound { value: value.clone(), inclusive: true })
                    .into_iter()
                    .collect()
            }
            None => {
                bounds.iter().filter(|bound| Kinds::of(&bound.value) == kind).cloned().collect()
            }
        }
    }

    /// Returns whether some value can be in both sets.
    pub(super) fn overlaps(&self, other: &Values) -> bool {
        self.and(other).kinds.has(Kinds::DEFINED)
    }
}

/// Returns whether a value is not on the wrong side of a bound of its kind; other kinds have other bounds.
fn is_within(value: &Value, bound: &Bound, wrong: Ordering) -> bool {
    if Kinds::of(value) != Kinds::of(&bound.value) {
        return true;
    }
    let order = model::order(Some(value), Some(&bound.value));
    order != wrong && (bound.inclusive || order != Ordering::Equal)
}
