//! Performance levels: the throughput of containers before it was a number.
//!
//! Wire: `x-ms-offer-type` of a create, `offerType` of an offer, which is then of version `V1`.

/// A performance level of the service's first years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PerformanceLevel {
    S1,
    S2,
    S3,
}

impl PerformanceLevel {
    const ALL: [PerformanceLevel; 3] = [Self::S1, Self::S2, Self::S3];

    pub(crate) fn parse(text: &str) -> Option<PerformanceLevel> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(text))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
        }
    }

    /// The request units per second that it is worth.
    pub(crate) fn units(self) -> u64 {
        match self {
            Self::S1 => 250,
            Self::S2 => 1000,
            Self::S3 => 2500,
        }
    }
}
