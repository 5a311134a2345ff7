//! What a project says about itself: the table `[audit]` of `handfast.toml`.
//!
//! Unknown keys are errors: a misspelt one must not silently weaken an audit. Other tables of the
//! file belong to others and are not looked at.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::audit::Options;

/// The table `[audit]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Audit {
    #[serde(default)]
    root: NameList,
    #[serde(default)]
    input: NameList,
    operation: Option<String>,
    #[serde(default)]
    control: Vec<OutsideControl>,
    /// A language's name → a file of rows.
    #[serde(default)]
    knowledge: BTreeMap<String, String>,
}

/// One name or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum NameList {
    One(String),
    Several(Vec<String>),
}

impl Default for NameList {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl NameList {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        }
    }
}

/// A control outside the code that makes an item not applicable.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutsideControl {
    item: String,
    reason: String,
    owner: String,
}

#[derive(Debug, Deserialize)]
struct ConfigFile {
    audit: Option<Audit>,
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// What is wrong with it, and where.
    pub detail: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for ConfigError {}

/// Adds what a configuration says to options; what options already say comes first.
///
/// # Errors
/// If the text is no TOML, a key of `[audit]` is unknown, or a control is for an item that cannot
/// have one or gives no reason.
pub fn configure(options: &mut Options, text: &str) -> Result<(), ConfigError> {
    let file: ConfigFile = toml::from_str(text).map_err(|error| ConfigError {
        detail: error.to_string(),
    })?;
    let Some(audit) = file.audit else {
        return Ok(());
    };
    options.roots.extend(audit.root.list());
    options.inputs.extend(audit.input.list());
    options.operation = options.operation.take().or(audit.operation);
    options.knowledge.extend(audit.knowledge);
    for control in audit.control {
        if !matches!(control.item.as_str(), "C5" | "D2") {
            return Err(ConfigError {
                detail: format!(
                    "a control can make C5 or D2 not applicable, not `{}`",
                    control.item
                ),
            });
        }
        if control.reason.trim().is_empty() || control.owner.trim().is_empty() {
            return Err(ConfigError {
                detail: format!(
                    "the control for {} names no owner or no reason",
                    control.item
                ),
            });
        }
        let reason = format!("{} ({})", control.reason, control.owner);
        options.controls.push((control.item, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_an_error_and_another_table_is_not() {
        let mut options = Options::default();
        assert!(configure(&mut options, "[audit]\nroots = \"x\"").is_err());
        assert!(configure(&mut options, "[server]\nport = 1").is_ok());
        assert!(options.roots.is_empty());
    }

    #[test]
    fn controls_need_an_owner_and_a_reason_and_are_for_two_items() {
        let mut options = Options::default();
        let text = |item: &str, reason: &str| {
            format!("[[audit.control]]\nitem = \"{item}\"\nowner = \"@ops\"\nreason = \"{reason}\"")
        };
        assert!(configure(&mut options, &text("C5", "")).is_err());
        assert!(configure(&mut options, &text("A1", "x")).is_err());
        assert!(configure(&mut options, &text("C5", "one mount per tenant")).is_ok());
        assert_eq!(options.controls[0].1, "one mount per tenant (@ops)");
    }
}
