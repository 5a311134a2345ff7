//! A fix that is suggested, typed as it is shown, leaves nothing above advice.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use handfast_audit::{Input, Knowledge, Options, audit};

/// A program with a hole; the suggestion takes the place of its operation.
const FRAMES: [(&str, &str, &str); 6] = [
    (
        "a.py",
        "import os\nfrom flask import request\nROOT = '/srv/data'\ndef show():\n    name = request.args['n']\n    @@\n",
        "open(os.path.join(ROOT, name)).read()",
    ),
    (
        "a.js",
        "const http = require('http'), fs = require('fs'), path = require('path')\nconst ROOT = '/srv/data'\nhttp.createServer((req, res) => {\n  const name = req.url\n  @@\n})\n",
        "fs.readFileSync(path.join(ROOT, name))",
    ),
    (
        "a.go",
        "package a\nimport (\"net/http\"; \"os\"; \"path/filepath\")\nconst ROOT = \"/srv/data\"\nfunc H(w http.ResponseWriter, r *http.Request) {\n\tname := r.URL.Query().Get(\"n\")\n\t@@\n}\n",
        "os.ReadFile(filepath.Join(ROOT, name))",
    ),
    (
        "a.rs",
        "use axum::extract::Path as P;\nconst ROOT: &str = \"/srv/data\";\npub async fn get(P(name): P<String>) -> Result<(), E> {\n    @@\n    Ok(())\n}\n",
        "let body = std::fs::read(std::path::Path::new(ROOT).join(name))?;",
    ),
    (
        "a.c",
        "#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#define ROOT \"/srv/data\"\nint show(void)\n{\n\tconst char *name = getenv(\"PATH_INFO\");\n\t@@\n\treturn 0;\n}\n",
        "char p[512]; snprintf(p, sizeof p, \"%s/%s\", ROOT, name); FILE *f = fopen(p, \"r\");",
    ),
    (
        "A.java",
        "import java.io.*;\nimport java.nio.file.*;\nimport jakarta.servlet.http.*;\nclass A extends HttpServlet {\n  static final String ROOT = \"/srv/data\";\n  void doGet(HttpServletRequest req, HttpServletResponse res) throws IOException {\n    String name = req.getParameter(\"n\");\n    @@\n  }\n}\n",
        "byte[] body = Files.readAllBytes(Path.of(ROOT).resolve(name));",
    ),
];

#[test]
fn a_suggestion_typed_literally_passes() {
    let knowledge = Knowledge::new(&[]).unwrap();
    let run = |path: &str, text: String| {
        let input = Input {
            path: path.to_owned(),
            bytes: text.into_bytes(),
            is_named: true,
            is_context: false,
        };
        audit(vec![input], &knowledge, &Options::default())
    };
    for (path, frame, hole) in FRAMES {
        let outcome = run(path, frame.replace("@@", hole));
        let loud = outcome
            .reports
            .iter()
            .flat_map(|report| &report.findings)
            .find(|finding| !finding.is_advice() && !finding.trace.is_empty());
        let finding = loud.unwrap_or_else(|| panic!("{path}: the hole is not found"));
        let indent = if path == "a.py" { "    " } else { "" };
        let fix = finding
            .suggested_anchor
            .trim()
            .replace('\n', &format!("\n{indent}"));
        let outcome = run(path, frame.replace("@@", &fix));
        let left: Vec<&str> = outcome
            .reports
            .iter()
            .flat_map(|report| &report.findings)
            .filter(|finding| !finding.is_advice() && !finding.trace.is_empty())
            .map(|finding| finding.title.as_str())
            .collect();
        assert!(left.is_empty(), "{path}: {left:?}\n{fix}");
    }
}
