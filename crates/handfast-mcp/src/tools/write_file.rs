//! `write_file`: the whole content in one step; the mode of a file that is there stays.

use handfast::files::Put;

use super::versions;
use crate::answer::Answer;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let expected = call.expected_version()?;
    let place = call.place("path")?;
    let put = match &expected {
        Some(version) => Put::If(version),
        None => Put::Replace,
    };
    let written = versions::put(call, &place, call.text("content").as_bytes(), put)?;
    let text = format!("Successfully wrote to {}", call.text("path"));
    Ok(Answer::text(text).with_version(versions::of_written(&written)))
}
