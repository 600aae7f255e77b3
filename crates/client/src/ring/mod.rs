//! Consistent hashing: each container owns the parts of a circle that begin or end at its points.
//!
//! Hot path: `Ring::owner` neither allocates nor locks.
//! Invariant: the ring depends on the texts of the links, the hash and the rule, and on nothing else.

mod dotnet;
mod generator;
mod jumps;
mod murmur;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use generator::{HashGenerator, Md5, Murmur3, XxHash};

use self::jumps::Jumps;
use crate::{ContainerLink, Error, Key, Result, link};

// Limit: a million points are 20 MB and far beyond any gain in evenness.
const POINTS_MAX: usize = 1 << 20;

/// How points are made and which of them owns a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RingRule {
    /// Points start at the hash of the link; a key belongs to the first point at or above it.
    #[default]
    Successor,
    /// As the Node, Python and Java SDKs: a key belongs to the last point at or below it. Use with
    /// [`Murmur3`] and their virtual nodes (128 unless changed) to find items they placed.
    NodePythonJava,
    /// As the .NET SDK in a 64-bit .NET Framework process. Use with [`Md5`].
    DotNetFramework64,
    /// As the .NET SDK in a 32-bit .NET Framework process. Use with [`Md5`].
    DotNetFramework32,
}

impl RingRule {
    fn first_point(self, hash: &dyn HashGenerator, link: &str) -> u128 {
        match self {
            RingRule::Successor | RingRule::NodePythonJava => hash.hash(link.as_bytes()),
            RingRule::DotNetFramework64 => hash.hash(&dotnet::string_hash_64(link).to_le_bytes()),
            RingRule::DotNetFramework32 => hash.hash(&dotnet::string_hash_32(link).to_le_bytes()),
        }
    }

    fn owner_is_below(self) -> bool {
        match self {
            RingRule::NodePythonJava => true,
            RingRule::Successor | RingRule::DotNetFramework64 | RingRule::DotNetFramework32 => {
                false
            }
        }
    }
}

/// A consistent-hash ring.
#[derive(Clone, Debug)]
pub struct Ring {
    links: Vec<ContainerLink>,
    hash: Arc<dyn HashGenerator>,
    rule: RingRule,
    virtual_nodes: usize,
    // Sorted points, and for each the index of its link. Apart, so that a search touches points only.
    points: Vec<u128>,
    owners: Vec<u32>,
    jumps: Jumps,
}

impl Ring {
    /// Makes a ring with `virtual_nodes` points for each link.
    pub fn new(
        links: Vec<ContainerLink>,
        virtual_nodes: usize,
        hash: Arc<dyn HashGenerator>,
        rule: RingRule,
    ) -> Result<Ring> {
        link::check_distinct(&links)?;
        let n_points = links.len().saturating_mul(virtual_nodes);
        if n_points == 0 || n_points > POINTS_MAX {
            return Err(Error::RingSize { points: n_points, points_max: POINTS_MAX });
        }
        let mut pairs = Vec::with_capacity(n_points);
        for (index, link) in (0..).zip(&links) {
            let mut point = rule.first_point(&*hash, link.as_str());
            for _ in 0..virtual_nodes {
                pairs.push((point, index));
                point = hash.next(point);
            }
        }
        // Stable: of equal points the one of the later link comes last, as in the old SDKs.
        pairs.sort_by_key(|(point, _)| *point);
        let (points, owners): (Vec<u128>, Vec<u32>) = pairs.into_iter().unzip();
        let jumps = Jumps::over(&points);
        Ok(Ring { links, hash, rule, virtual_nodes, points, owners, jumps })
    }

    /// Returns the container that owns a key.
    pub fn owner(&self, key: &Key) -> &ContainerLink {
        &self.links[self.owner_index(key)]
    }

    /// Returns the place of that container in [`Ring::links`].
    pub fn owner_index(&self, key: &Key) -> usize {
        self.owners[self.point_index(&key.hash_text())] as usize
    }

    fn point_index(&self, text: &str) -> usize {
        let place = self.hash.hash(text.as_bytes());
        let last = self.points.len() - 1;
        if self.rule.owner_is_below() {
            let above = self.jumps.partition_point(&self.points, place, |it| it <= place);
            above.checked_sub(1).unwrap_or(last)
        } else {
            let at_or_above = self.jumps.partition_point(&self.points, place, |it| it < place);
            if at_or_above > last { 0 } else { at_or_above }
        }
    }

    /// Returns the links in the order given.
    pub fn links(&self) -> &[ContainerLink] {
        &self.links
    }

    /// Returns the points in order, each with the index of its link.
    pub fn points(&self) -> impl Iterator<Item = (u128, usize)> {
        self.points.iter().zip(&self.owners).map(|(point, owner)| (*point, *owner as usize))
    }

    /// Returns the number of points of each link.
    pub fn virtual_nodes(&self) -> usize {
        self.virtual_nodes
    }

    /// Returns the hash.
    pub fn hash(&self) -> &Arc<dyn HashGenerator> {
        &self.hash
    }

    /// Returns the rule.
    pub fn rule(&self) -> RingRule {
        self.rule
    }
}
