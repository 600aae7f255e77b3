//! A prepared query: parsed, bound and ready to run many times.

use std::sync::Arc;
use std::time::Duration;

use model::{Env, Value};

use crate::ast;
use crate::bind::{self, ComputedProperty, tree};
use crate::context::{Budget, Context, Run, UdfHost, VectorEmbedding};
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row};
use crate::full_text::language::FullTextPolicy;
use crate::functions::Prepared;
use crate::memory::{MemoryPool, QueryMemory};
use crate::operators::{self, Page, PageRequest};
use crate::paging::continuation::keys_bytes_max;
use crate::paging::resume_filter::ResumeFilter;
use crate::plan::{self, IndexUsage, Plan, PlanOptions, Purpose};
use crate::policy::OrderPolicy;
use crate::source::{ItemIndex, ItemSource};
use crate::syntax::parse_cache::{ParseCache, Parsed};

/// Limit: time for a condition on one item; writers may wait for it.
const MATCH_TIME_MAX: Duration = Duration::from_secs(2);

/// Rows of the page that an explanation is about, as clients ask for when they do not say.
const EXPLAINED_ITEMS: usize = 100;

/// Texts up to this length are not counted: their trees are small, and many are kept.
const LONG_TEXT: usize = 4096;

/// Bytes of the trees of a text for each of its bytes, about.
const TREE_BYTES: usize = 100;

/// Everything about the container and the request that a query depends on.
#[derive(Clone, Debug)]
pub struct PrepareOptions {
    /// Clock and randomness.
    pub env: Env,
    /// The computed properties of the container.
    pub computed_properties: Vec<ComputedProperty>,
    /// Runs user-defined functions; a query that calls one fails without it.
    pub udf_host: Option<Arc<dyn UdfHost>>,
    /// Whether spatial values are plane geometry instead of geography.
    pub is_geometry: bool,
    /// The vector policy of the container.
    pub vector_embeddings: Vec<VectorEmbedding>,
    /// The full-text policy of the container: the languages of its texts.
    pub full_text: FullTextPolicy,
    /// Which ORDER BY clauses the indexes allow; `None` allows all.
    pub order_policy: Option<OrderPolicy>,
    /// The resume filter of the request.
    pub resume_filter: Option<ResumeFilter>,
    /// How long a continuation should be at most: a shorter one may cost the next page more.
    pub continuation_bytes_max: Option<usize>,
    /// Where trees of texts are remembered, if anywhere.
    pub parses: Option<Arc<ParseCache>>,
    /// What all queries of the server may hold together; without it each has its own bound only.
    pub memory: Option<Arc<MemoryPool>>,
}

impl PrepareOptions {
    /// Makes options for a container without special settings.
    pub fn new(env: Env) -> PrepareOptions {
        PrepareOptions {
            env,
            computed_properties: Vec::new(),
            udf_host: None,
            is_geometry: false,
            vector_embeddings: Vec::new(),
            full_text: FullTextPolicy::default(),
            order_policy: None,
            resume_filter: None,
            continuation_bytes_max: None,
            parses: None,
            memory: None,
        }
    }
}

/// A prepared query.
#[derive(Debug)]
pub struct Statement {
    parsed: Arc<Parsed>,
    query: tree::Query,
    context: Context,
    parameters: Vec<(String, Arc<Value>)>,
    resume: Option<ResumeFilter>,
}

impl Statement {
    /// Parses and binds a query. Parameter names have their `@`.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] with every mistake found, [`crate::Error::Limit`] for too large a text.
    pub fn prepare(
        text: &str,
        parameters: &[(String, Value)],
        options: &PrepareOptions,
    ) -> Result<Statement> {
        let statement = Statement::prepare_for_plan(text, parameters, options)?;
        if statement.query.orders_elements {
            let message = "Order-by over correlated collections is not supported.";
            return Err(Error::Unplannable(message.to_string()));
        }
        if let Some(policy) = &options.order_policy {
            policy.check(statement.ast(), &statement.query)?;
        }
        Ok(statement)
    }

    /// Prepares a query that is planned and not run: the indexes of the container do not matter.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] with every mistake found, [`crate::Error::Limit`] for too large a text.
    pub fn prepare_for_plan(
        text: &str,
        parameters: &[(String, Value)],
        options: &PrepareOptions,
    ) -> Result<Statement> {
        let memory = QueryMemory::new(options.memory.clone());
        if text.len() > LONG_TEXT {
            memory.take(text.len().saturating_mul(TREE_BYTES), true)?;
        }
        let parsed = match &options.parses {
            Some(parses) => parses.parse(text)?,
            None => Arc::new(Parsed::new(text)?),
        };
        let ast = &parsed.tree;
        let context = Context {
            env: options.env.clone(),
            udf_host: options.udf_host.clone(),
            is_geometry: options.is_geometry,
            embeddings: options.vector_embeddings.clone(),
            full_text: options.full_text.clone(),
            keys_bytes_max: keys_bytes_max(options.continuation_bytes_max),
            memory,
        };
        let share = |(name, value): &(String, Value)| (name.clone(), Arc::new(value.clone()));
        context.memory.take(parameters.iter().map(|(_, value)| value.heap_bytes()).sum(), true)?;
        let parameters: Vec<_> = parameters.iter().map(share).collect();
        let query = bind::bind(text, ast, &parameters, &options.computed_properties, &context)?;
        let resume = options.resume_filter.clone();
        Ok(Statement { parsed, query, context, parameters, resume })
    }

    /// Prepares the condition of a patch: `FROM c WHERE …` without a SELECT, to be used with
    /// [`Statement::matches`]. A text with a SELECT is taken as it is.
    ///
    /// # Errors
    /// As [`Statement::prepare`].
    pub fn prepare_condition(
        text: &str,
        parameters: &[(String, Value)],
        options: &PrepareOptions,
    ) -> Result<Statement> {
        let first_word = text.split_whitespace().next().unwrap_or_default();
        if first_word.eq_ignore_ascii_case("SELECT") {
            return Statement::prepare(text, parameters, options);
        }
        Statement::prepare(&format!("SELECT VALUE 1 {text}"), parameters, options)
    }

    /// Returns whether FROM and WHERE yield at least one row for the item.
    ///
    /// # Errors
    /// An evaluation error, such as a user-defined function that threw.
    pub fn matches(&self, item: &Value) -> Result<bool> {
        let run = Run::within(&self.context, Budget::once(&self.context, MATCH_TIME_MAX));
        let mut found = false;
        each_row(&self.query, &Frame::root(tree::ITEM_LEVEL, item), &run, &mut |_| {
            found = true;
            Ok(Flow::Stop)
        })?;
        Ok(found)
    }

    /// Computes one page of rows.
    ///
    /// # Errors
    /// A bad continuation, an evaluation error, a limit, or the error of the source.
    pub fn run(&self, source: &dyn ItemSource, request: &PageRequest<'_>) -> Result<Page> {
        self.check_vectors(source)?;
        operators::run(&self.query, &self.context, self.resume.as_ref(), source, request)
    }

    /// Computes one page of rows if its plan says that it takes about a millisecond at most; `None` if it takes longer,
    /// or nobody knows. To find that out takes no longer either.
    ///
    /// # Errors
    /// As for [`Statement::run`].
    pub fn run_short(
        &self,
        source: &dyn ItemSource,
        request: &PageRequest<'_>,
    ) -> Result<Option<Page>> {
        self.check_vectors(source)?;
        operators::run_short(&self.query, &self.context, self.resume.as_ref(), source, request)
    }

    /// Wire: a vector of another length is a mistake only where there are items that it is compared with.
    fn check_vectors(&self, source: &dyn ItemSource) -> Result<()> {
        let has_items = || source.index().and_then(ItemIndex::n_items) != Some(0);
        if orders_by_wrong_vectors(&self.query) && has_items() {
            return Err(Error::Unplannable("One of the input values is invalid.".to_owned()));
        }
        Ok(())
    }

    /// Describes how the query would run on a source: one operator per line, its input indented below it.
    ///
    /// # Errors
    /// The error of the source.
    pub fn explain(&self, source: &dyn ItemSource) -> Result<String> {
        let options = PlanOptions {
            items_max: EXPLAINED_ITEMS,
            may_parallel: self.context.udf_host.is_none(),
            purpose: Purpose::Explain,
        };
        Ok(Plan::new(&self.query, source, options)?.text())
    }

    /// Returns which index paths the query uses on a source, and which it could use.
    pub fn index_usage(&self, source: &dyn ItemSource) -> IndexUsage {
        plan::usage(&self.query, source)
    }

    /// Says whether rows that sort alike come in descending order of their items: they do when the first key descends.
    pub fn is_reverse_scan(&self) -> bool {
        self.query.order.first().is_some_and(|key| key.descending)
    }

    /// Returns the syntax tree.
    pub fn ast(&self) -> &ast::Query {
        &self.parsed.tree
    }

    /// Returns whether the query has a FROM clause.
    pub fn reads_items(&self) -> bool {
        !matches!(self.query.base, tree::Base::Nothing)
    }

    /// Returns whether the rows start from those of a subquery that are not known before all items were seen.
    pub fn needs_all_rows_of_a_subquery(&self) -> bool {
        self.query.has_row_base()
    }

    /// Returns the parameters.
    pub(crate) fn parameters(&self) -> &[(String, Arc<Value>)] {
        &self.parameters
    }

    /// Returns the value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Arc<Value>> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    pub(crate) fn bound(&self) -> &tree::Query {
        &self.query
    }
}

/// Says whether a query orders by vectors that the items cannot have.
fn orders_by_wrong_vectors(query: &tree::Query) -> bool {
    let is_wrong = |key: &tree::OrderKey| {
        let tree::Expr::Call { arguments, prepared: Prepared::Vector(options), .. } = &key.expr
        else {
            return false;
        };
        arguments.iter().take(2).any(|argument| match argument {
            tree::Expr::Constant(Some(datum)) => datum
                .as_array()
                .is_some_and(|vector| options.dimensions.is_some_and(|n| n != vector.len())),
            _ => false,
        })
    };
    query.order.iter().any(is_wrong)
}
