//! The choice of a controller for a stack, by name and options.

use std::fmt;
use std::sync::Arc;

use super::super::controller::{Capability, Factory};
use super::super::options::OptionError;
use super::super::registry;

/// A stack and the optional parts of the interface that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The name for error messages.
    pub name: &'static str,
    /// Its capabilities.
    pub capabilities: &'static [Capability],
}

impl Stack {
    /// The first capability that the controller requires and the stack lacks.
    fn missing(&self, factory: &dyn Factory) -> Option<Capability> {
        let required = factory.requires().iter();
        required
            .copied()
            .find(|capability| !self.capabilities.contains(capability))
    }

    /// The names of the controllers that the stack supports.
    pub fn controllers(&self) -> Vec<&'static str> {
        let supported = |name: &&'static str| {
            registry::factory(name, "").is_ok_and(|factory| self.missing(&*factory).is_none())
        };
        registry::names().filter(supported).collect()
    }
}

/// The error of a controller that cannot be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectError {
    /// The name or an option is invalid.
    Option(OptionError),
    /// The stack lacks a capability that the controller requires.
    Unsupported {
        /// The controller.
        controller: &'static str,
        /// The capability.
        capability: Capability,
        /// The stack.
        stack: &'static str,
        /// The controllers that the stack supports.
        supported: Vec<&'static str>,
    },
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => error.fmt(f),
            Self::Unsupported {
                controller,
                capability,
                stack,
                supported,
            } => write!(
                f,
                "{controller}: {capability}: not supported (got stack {stack}); expected {}",
                supported.join(", ")
            ),
        }
    }
}

impl std::error::Error for SelectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Option(error) => Some(error),
            Self::Unsupported { .. } => None,
        }
    }
}

impl From<OptionError> for SelectError {
    fn from(error: OptionError) -> Self {
        Self::Option(error)
    }
}

/// Returns the factory of a controller by name and options, such as
/// `petra:alpha=0.8,faster_start=off`.
///
/// # Errors
///
/// An unknown name, an invalid option, or a controller that requires what the stack lacks.
pub fn select(text: &str, stack: &Stack) -> Result<Arc<dyn Factory>, SelectError> {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    let factory = registry::factory(name, options)?;
    check(&*factory, stack)?;
    Ok(factory)
}

/// Checks that a stack has all that a controller requires.
///
/// # Errors
///
/// [`SelectError::Unsupported`] with the first capability that the stack lacks.
pub fn check(factory: &dyn Factory, stack: &Stack) -> Result<(), SelectError> {
    match stack.missing(factory) {
        None => Ok(()),
        Some(capability) => Err(SelectError::Unsupported {
            controller: factory.name(),
            capability,
            stack: stack.name,
            supported: stack.controllers(),
        }),
    }
}
