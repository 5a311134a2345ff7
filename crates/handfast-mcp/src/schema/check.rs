//! What is wrong with the arguments of a call.

use serde_json::Value;

use super::{Argument, Kind, Tool};

impl Tool {
    /// What is wrong with the arguments of a call, one sentence each.
    pub(crate) fn faults(&self, arguments: &Value) -> Vec<String> {
        let Value::Object(given) = arguments else {
            return vec![expected("", "object", Some(arguments))];
        };
        let mut faults = Vec::new();
        for argument in self.arguments {
            argument.check(given.get(argument.name), &mut faults);
        }
        faults
    }
}

impl Argument {
    fn check(&self, value: Option<&Value>, faults: &mut Vec<String>) {
        if value.is_none() && !self.required {
            return;
        }
        let mut expect = |kind: &str| faults.push(expected(self.name, kind, value));
        match (self.kind, value) {
            (Kind::Text, Some(Value::String(_)))
            | (Kind::Number, Some(Value::Number(_)))
            | (Kind::Flag, Some(Value::Bool(_))) => {}
            (Kind::Text, _) => expect("string"),
            (Kind::Number, _) => expect("number"),
            (Kind::Flag, _) => expect("boolean"),
            (Kind::SortBy, Some(Value::String(text))) if text == "name" || text == "size" => {}
            (Kind::SortBy, _) => faults.push(format!(
                "{}: Invalid option: expected one of \"name\"|\"size\"",
                self.name
            )),
            (Kind::SomeTexts | Kind::AnyTexts, Some(Value::Array(items))) => {
                if items.is_empty() && self.kind == Kind::SomeTexts {
                    faults.push(format!(
                        "{}: Too small: expected array to have >=1 items",
                        self.name
                    ));
                }
                for (index, item) in items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| !item.is_string())
                {
                    faults.push(expected(
                        &format!("{}[{index}]", self.name),
                        "string",
                        Some(item),
                    ));
                }
            }
            (Kind::Edits, Some(Value::Array(items))) => {
                for (index, item) in items.iter().enumerate() {
                    let place = format!("{}[{index}]", self.name);
                    let Value::Object(edit) = item else {
                        faults.push(expected(&place, "object", Some(item)));
                        continue;
                    };
                    for name in ["oldText", "newText"] {
                        let value = edit.get(name);
                        if !value.is_some_and(Value::is_string) {
                            faults.push(expected(&format!("{place}.{name}"), "string", value));
                        }
                    }
                    let all = edit.get("replaceAll");
                    if all.is_some_and(|all| !all.is_boolean()) {
                        faults.push(expected(&format!("{place}.replaceAll"), "boolean", all));
                    }
                }
            }
            (Kind::SomeTexts | Kind::AnyTexts | Kind::Edits, _) => expect("array"),
        }
    }
}

fn expected(place: &str, kind: &str, value: Option<&Value>) -> String {
    let received = match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    };
    let colon = if place.is_empty() { "" } else { ": " };
    format!("{place}{colon}Invalid input: expected {kind}, received {received}")
}

#[cfg(test)]
mod tests {
    use super::super::{Offer, Tool};
    use serde_json::json;

    fn find(name: &str) -> &'static Tool {
        Offer::default().find(name).unwrap()
    }

    #[test]
    fn faults_name_the_place() {
        let write = find("write_file");
        assert_eq!(
            write.faults(&json!({"content": 1})),
            [
                "path: Invalid input: expected string, received undefined",
                "content: Invalid input: expected string, received number",
            ]
        );
        let edit = find("edit_file");
        assert_eq!(
            edit.faults(&json!({"path": "a", "edits": [{"oldText": "x"}, null], "dryRun": null})),
            [
                "edits[0].newText: Invalid input: expected string, received undefined",
                "edits[1]: Invalid input: expected object, received null",
                "dryRun: Invalid input: expected boolean, received null",
            ]
        );
        let many = find("read_multiple_files");
        assert_eq!(
            many.faults(&json!({"paths": []})),
            ["paths: Too small: expected array to have >=1 items"]
        );
        assert_eq!(
            many.faults(&json!([])),
            ["Invalid input: expected object, received array"]
        );
        assert!(
            write
                .faults(&json!({"path": "a", "content": "", "more": 1}))
                .is_empty()
        );
    }
}
