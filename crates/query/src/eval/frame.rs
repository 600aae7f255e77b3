//! The variables of a row: a list of frames on the stack, innermost first.

use model::Value;

use crate::value::Maybe;

/// One variable, and the variables around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'e> {
    level: usize,
    content: FrameValue<'e>,
    up: Option<&'e Frame<'e>>,
}

#[derive(Clone, Copy, Debug)]
enum FrameValue<'e> {
    Nothing,
    Value(&'e Value),
    Group(&'e Group),
}

/// The results of one group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) keys: Vec<Option<Value>>,
    pub(crate) aggregates: Vec<Maybe<'static>>,
}

impl<'e> Frame<'e> {
    /// The row of a query without FROM.
    pub(crate) const EMPTY: Frame<'static> =
        Frame { level: usize::MAX, content: FrameValue::Nothing, up: None };

    /// The outermost frame.
    pub(crate) fn root(level: usize, value: &'e Value) -> Frame<'e> {
        Frame { level, content: FrameValue::Value(value), up: None }
    }

    /// Adds a variable.
    pub(crate) fn with_value(&'e self, level: usize, value: &'e Value) -> Frame<'e> {
        Frame { level, content: FrameValue::Value(value), up: Some(self) }
    }

    /// Adds a group.
    pub(crate) fn with_group(&'e self, level: usize, group: &'e Group) -> Frame<'e> {
        Frame { level, content: FrameValue::Group(group), up: Some(self) }
    }

    /// Returns the variable of a level.
    pub(crate) fn value(&self, level: usize) -> Option<&'e Value> {
        match self.find(level)?.content {
            FrameValue::Value(value) => Some(value),
            FrameValue::Nothing | FrameValue::Group(_) => None,
        }
    }

    /// Returns the group of a level.
    pub(crate) fn group(&self, level: usize) -> Option<&'e Group> {
        match self.find(level)?.content {
            FrameValue::Group(group) => Some(group),
            FrameValue::Nothing | FrameValue::Value(_) => None,
        }
    }

    fn find(&self, level: usize) -> Option<&Frame<'e>> {
        let mut frame = self;
        while frame.level != level {
            frame = frame.up?;
        }
        Some(frame)
    }
}
